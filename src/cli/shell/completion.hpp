// What a word of a command line may become.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace onceguard::cli::shell {

struct completion {
  /// What stands in the place of completions where the name of a file or a directory is wanted.
  static constexpr const char* file = ":file";
  static constexpr const char* directory = ":directory";

  std::string word;
  std::string about;  ///< one line; may be empty
};

/// What the last of these words may become: those before it are complete, and the name of the
/// program is not among them. bash gives "=" as a word of its own.
[[nodiscard]] std::vector<completion> completions(const CLI::App& program,
                                                  const std::vector<std::string>& words);

}  // namespace onceguard::cli::shell
