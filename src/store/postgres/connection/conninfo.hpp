// Splits a URL, as libpq reads it, into one target for each of its hosts. Each target gets its own
// deadline.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::postgres {

/// One of the servers, as libpq's keywords and values.
struct target {
  std::map<std::string, std::string> options;
  std::string name;  ///< "host:port", for people
};

/// A target as libpq's functions take it. Points into the target.
struct connect_arguments {
  explicit connect_arguments(const target& target) {
    for (const auto& [name, value] : target.options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
  }

  std::vector<const char*> names;
  std::vector<const char*> values;
};

struct conninfo {
  std::vector<target> targets;
  std::string name;  ///< "postgresql host:port,host:port/database": no user, no password
};

/// errc::invalid_argument: libpq cannot read it. No error text repeats any part of the URL.
[[nodiscard]] result<conninfo> parse_conninfo(const std::string& url, milliseconds timeout);

}  // namespace onceguard::postgres
