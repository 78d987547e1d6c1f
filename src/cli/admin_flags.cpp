#include "cli/admin_flags.hpp"

#include <fstream>
#include <iostream>

#include "base/ascii.hpp"
#include "http1/message.hpp"

namespace onceguard::cli {

void add_admin_flags(const command& command, admin_flags& flags, const std::string& text) {
  command.add({{"--admin", &flags.address, text, typed("ADDRESS")},
               {"--token-file", &flags.token_file, "A file with the token for --admin",
                only_with("--admin", typed("FILE"))}});
}

std::optional<admin::admin_target> read_target(const admin_flags& flags) {
  auto address = base::parse_server_address(flags.address);
  if (!address) {
    std::cerr << "onceguard: --admin: " << address.error().detail << "\n";
    return std::nullopt;
  }
  admin::admin_target out{*std::move(address), {}};
  if (flags.token_file.empty()) return out;
  std::ifstream file(flags.token_file);
  std::string line;
  std::getline(file, line);
  out.token = base::trim(line);
  // The token becomes a part of a header field.
  if (out.token.empty() || !http1::is_field_value(out.token)) {
    std::cerr << "onceguard: --token-file: " << flags.token_file
              << ": a token in the first line was expected\n";
    return std::nullopt;
  }
  return out;
}

}  // namespace onceguard::cli
