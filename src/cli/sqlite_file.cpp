#include "cli/sqlite_file.hpp"

#include <iostream>

namespace onceguard::cli {

std::optional<sqlite::sqlite_params> sqlite_file(const config::settings& settings) {
  constexpr std::string_view scheme = "sqlite:";
  if (!settings.store.url.starts_with(scheme)) {
    std::cerr << "onceguard: only a sqlite: store is backed up and restored by this command; for "
                 "the others docs/operations.md says how\n";
    return std::nullopt;
  }
  sqlite::sqlite_params out;
  out.path = settings.store.url.substr(scheme.size());
  out.timeout = settings.store.timeout;
  out.clock = settings.store.clock;
  return out;
}

}  // namespace onceguard::cli
