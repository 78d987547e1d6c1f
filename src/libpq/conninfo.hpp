// A URL as libpq reads it: its options, and one target for each of its hosts, which gets its own
// deadline; and connections to them for those who may block.
#pragma once
#include <libpq-fe.h>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/unique_handle.hpp"

namespace onceguard::postgres {

/// By libpq's keywords.
using connect_options = std::map<std::string, std::string>;

/// What the URL says; none: libpq can't read it. Its message is lost, as it may hold the password.
[[nodiscard]] std::optional<connect_options> read_options(const std::string& url);
/// What the options leave open and who writes to the database needs.
void complete_options(connect_options& options, const std::string& application,
                      milliseconds silence_max);
/// Empty: it is not set.
[[nodiscard]] std::string option_of(const connect_options& options, const std::string& name);

/// As libpq's functions take them. Points into the options.
struct connect_arguments {
  explicit connect_arguments(const connect_options& options) {
    for (const auto& [name, value] : options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
  }

  std::vector<const char*> names;
  std::vector<const char*> values;
};

/// One of the servers.
struct target {
  connect_options options;
  std::string name;  ///< "host:port", for people
};

struct conninfo {
  std::vector<target> targets;
  std::string name;  ///< "postgresql host:port,host:port/database": no user, no password
};

/// errc::invalid_argument: libpq cannot read it. No error text repeats any part of the URL.
[[nodiscard]] result<conninfo> parse_conninfo(const std::string& url, milliseconds timeout);

using connection_ptr = base::unique_handle<PGconn, PQfinish>;

struct connected {
  connection_ptr handle;  ///< broken: no server could be reached; this is the last try
  const target* server = nullptr;
};
/// Connects to the first server that can be reached; blocks. `timeout`: of each try; 0: libpq's.
/// Notices are dropped.
[[nodiscard]] connected connect(const conninfo& where, milliseconds timeout);

}  // namespace onceguard::postgres
