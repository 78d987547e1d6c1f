// The error message for an invalid command line.
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace onceguard::cli {

/// Describes the fault and suggests what may have been intended.
[[nodiscard]] std::string wrong_usage(const CLI::App& program, const CLI::ParseError& failure);

}  // namespace onceguard::cli
