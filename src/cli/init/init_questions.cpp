#include "cli/init/init_questions.hpp"

#include <stdexcept>

#include "base/ascii.hpp"

namespace onceguard::cli::init {

std::string questions::ask(const std::string& question, const std::string& proposal,
                           const std::function<std::string(const std::string&)>& fault) {
  while (true) {
    output_ << question << (proposal.empty() ? "" : " [" + proposal + "]") << ": " << std::flush;
    std::string line;
    const bool typed = static_cast<bool>(std::getline(input_, line));
    if (!typed) throw std::runtime_error("the input ended before an answer; nothing was written");
    std::string answer(base::trim(line));
    if (answer.empty()) answer = proposal;
    const auto why = fault(answer);
    if (why.empty()) return answer;
    output_ << why << "\n";
  }
}

}  // namespace onceguard::cli::init
