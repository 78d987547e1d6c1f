// What is said of a command line that the program does not understand.
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace onceguard::cli {

/// Whether the command line, of which help was asked, names a command that there is not.
[[nodiscard]] bool names_unknown_command(const CLI::App& program);
/// Describes the fault of a command line and suggests what may have been intended.
[[nodiscard]] std::string wrong_usage(const CLI::App& program, const CLI::ParseError& failure);

}  // namespace onceguard::cli
