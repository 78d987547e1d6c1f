// What is said about a command line that can't be understood.
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace onceguard::cli {

/// What is wrong, and what could have been meant.
[[nodiscard]] std::string wrong_usage(const CLI::App& program, const CLI::ParseError& failure);

}  // namespace onceguard::cli
