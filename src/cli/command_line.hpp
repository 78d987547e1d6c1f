// The words of one command line, before and behind the options that CLI11 reads.
#pragma once
#include <string>
#include <vector>

namespace onceguard::cli {

/// One command line, beside its options.
struct command_line {
  int exit_code = 0;                          ///< of the command that ran
  std::vector<std::string>* words = nullptr;  ///< takes what stands behind "--": add_words()
};

/// `version` is `--version`, `help COMMAND` is `COMMAND --help`, and `--key=` has an empty value.
[[nodiscard]] std::vector<std::string> with_options(std::vector<std::string> arguments);
/// Moves what stands behind the first "--" to where the command takes it. The option parser never
/// sees it: it would take a word like `["pay",100]` for a list.
void take_words(const command_line& line, std::vector<std::string>& arguments);

}  // namespace onceguard::cli
