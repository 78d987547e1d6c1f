// What the tests' Redis servers have in common when there are several: to wait until they agree.
#pragma once
#include <string>

#include "support/redis_server.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

/// Is there such a line in the text of INFO, CLUSTER INFO and the like?
inline bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\r\n") != std::string::npos;
}

inline bool is_attached(const redis_server& replica) {
  const auto reply = replica.session().run({"INFO", "replication"});
  return has_line(reply, "role:slave") && has_line(reply, "master_link_status:up");
}
inline bool is_master(const redis_server& server) {
  return has_line(server.session().run({"INFO", "replication"}), "role:master");
}

/// So that a clock that jumps breaks no connection between servers.
inline const redis_settings patient_replication{"--repl-diskless-sync-delay", "0", "--repl-timeout",
                                                "2000000000"};

}  // namespace onceguard::testing
