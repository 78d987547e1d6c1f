// What a person does with a dead row of an outbox, whoever asks for it: a command or the admin API.
#pragma once
#include <string>

#include "audit/audit_log.hpp"
#include "relay/dead_rows.hpp"

namespace onceguard::cli::messages {

struct row_end {
  std::string_view outcome = "failed";  ///< "done", "changed" or "failed"
  std::string detail{};                 ///< for people; may be empty
};

/// Lets the relay send the row again (`retries`), or deletes it, if it is as it was seen.
[[nodiscard]] row_end change_row(relay::dead_rows& outbox, const std::string& relay_name,
                                 const relay::dead_row& seen, bool retries, audit_log& log,
                                 const audit_author& author);

}  // namespace onceguard::cli::messages
