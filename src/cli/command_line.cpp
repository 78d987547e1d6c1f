#include "cli/command_line.hpp"

#include <algorithm>
#include <iterator>

namespace onceguard::cli {

std::vector<std::string> with_options(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  } else if (arguments.front() == "version") {
    arguments.front() = "--version";
  }
  // "--key=" has an empty value, for which the parser would take the next word.
  for (auto each = arguments.begin(); each != arguments.end() && *each != "--"; ++each) {
    if (each->size() < 4 || !each->starts_with("--") || each->find('=') != each->size() - 1)
      continue;
    each->pop_back();
    each = arguments.insert(std::next(each), std::string());
  }
  return arguments;
}

void take_words(const command_line& line, std::vector<std::string>& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (line.words == nullptr || mark == arguments.end()) return;
  line.words->assign(std::next(mark), arguments.end());
  arguments.erase(mark, arguments.end());
}

}  // namespace onceguard::cli
