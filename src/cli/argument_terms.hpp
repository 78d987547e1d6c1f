// What the arguments of a command line may be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace onceguard::cli {

/// What an argument of a command line may be. Names of other arguments are those of their rows.
struct argument_terms {
  std::optional<std::string> type{};  ///< what the help shows for the value; empty: nothing
  bool required = false;
  bool once = false;  ///< at most once on a command line
  /// Returns an empty text for a valid value.
  std::function<std::string(const std::string&)> check{};
  std::vector<std::string> one_of{};
  bool existing_file = false;
  const char* excludes = nullptr;
  const char* needs = nullptr;
  std::size_t least = 0;  ///< of a number
  std::size_t most = SIZE_MAX;
  std::string group{};
};

// Terms by what they say, for the rows of commands.

using argument_check = std::function<std::string(const std::string&)>;

/// A value of this type.
[[nodiscard]] argument_terms typed(const char* type, argument_check check = {});
/// The same, at most once on a command line.
[[nodiscard]] argument_terms single(const char* type, argument_check check = {});
[[nodiscard]] argument_terms required(const char* type, argument_check check = {});
/// What is wrong with a duration that must be above zero.
[[nodiscard]] std::string period_fault(const std::string& text);
/// Such a duration, at most once.
[[nodiscard]] argument_terms a_period();
/// One of these words, at most once.
[[nodiscard]] argument_terms one_of(std::vector<std::string> words);
/// One of these words, each time that it is given.
[[nodiscard]] argument_terms any_of(std::vector<std::string> words, const char* type);
[[nodiscard]] argument_terms between(std::size_t least, std::size_t most,
                                     const char* type = "NUMBER");
/// Not together with the argument `other`.
[[nodiscard]] argument_terms not_with(const char* other, argument_terms terms = {});
/// Only together with it.
[[nodiscard]] argument_terms only_with(const char* other, argument_terms terms = {});

}  // namespace onceguard::cli
