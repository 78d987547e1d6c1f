// Asks a person at a terminal for what `onceguard init` is not in flags.
#pragma once
#include <functional>
#include <istream>
#include <ostream>
#include <string>

namespace onceguard::cli::init {

class questions {
 public:
  questions(std::istream& input, std::ostream& output) : input_(input), output_(output) {}

  /// The line that is typed, or the proposal if it is empty. Asks again while `fault` finds one;
  /// the end of the input takes the proposal. Throws std::runtime_error if that has a fault, too.
  [[nodiscard]] std::string ask(const std::string& question, const std::string& proposal,
                                const std::function<std::string(const std::string&)>& fault);

 private:
  std::istream& input_;
  std::ostream& output_;
};

}  // namespace onceguard::cli::init
