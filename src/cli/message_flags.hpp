// Flags for the parts of an HTTP message: header fields and a body.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace onceguard::cli {

struct message_flags {
  std::vector<std::string> headers;  ///< "Name: value"
  std::string body;
  std::string body_file;
};

/// Adds -H/--header, --body and --body-file to the command. Malformed fields are reported as wrong
/// usage.
void add_message_flags(const command& command, message_flags& given);

[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of(
    const message_flags& given);
/// Throws std::runtime_error if the file can't be read.
[[nodiscard]] std::string body_of(const message_flags& given);

}  // namespace onceguard::cli
