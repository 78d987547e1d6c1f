#include "cli/shell/completion.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "config/all_options.hpp"

namespace onceguard::cli::shell {
namespace {

/// The first sentence of a text, without its full stop.
std::string first_sentence(std::string_view text) {
  text = text.substr(0, std::min(text.find(". "), text.find('\n')));
  if (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

const CLI::App* command_of(const CLI::App& above, const std::string& name) {
  const auto any = [](const CLI::App*) { return true; };
  for (const auto* below : above.get_subcommands(any)) {
    if (below->get_name() == name) return below;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

/// The option of this name, which takes a value; null: there is none.
const CLI::Option* option_with_value(const CLI::App& command, const std::string& name) {
  const auto* const option = command.get_option_no_throw(name);
  return option != nullptr && takes_value(*option) ? option : nullptr;
}

/// The words that an option of the command line alone may have: CLI11 shows them as "{a,b}".
std::vector<std::string> listed(const std::string& type) {
  std::vector<std::string> out;
  const auto begin = type.find('{');
  const auto end = type.find('}', begin == type.npos ? 0 : begin);
  if (begin == type.npos || end == type.npos) return out;
  for (auto head = begin + 1; head < end;) {
    const auto comma = std::min(type.find(',', head), end);
    out.push_back(type.substr(head, comma - head));
    head = comma + 1;
  }
  return out;
}

std::vector<std::string> values_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  if (auto words = listed(type); !words.empty()) return words;
  if (type.starts_with("FILE")) return {completion::file};
  if (type.starts_with("DIRECTORY")) return {completion::directory};
  for (const auto* known : config::flag_options()) {
    if (!option.check_lname(std::string(known->flag))) continue;
    return {known->choices.begin(), known->choices.end()};
  }
  return {};
}

/// Where a command line has come to.
struct position {
  const CLI::App* command;
  const CLI::Option* waiting = nullptr;  ///< the option whose value comes next
  bool is_foreign = false;               ///< behind "--"
};

position reached(const CLI::App& program, const std::vector<std::string>& words) {
  position now{&program};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto& word = words[i];
    if (word == "=") continue;
    if (word == "--") {
      now.is_foreign = true;
      break;
    }
    if (std::exchange(now.waiting, nullptr) != nullptr) continue;
    if (word.starts_with('-')) {
      now.waiting = option_with_value(*now.command, word);
    } else if (const auto* below = command_of(*now.command, word)) {
      now.command = below;
    }
  }
  return now;
}

using list = std::vector<completion>;

list begun_with(list all, std::string_view begin) {
  std::erase_if(all, [&](const completion& each) {
    return !each.word.starts_with(':') && !each.word.starts_with(begin);
  });
  return all;
}

list values(const CLI::Option& option, const std::string& before) {
  list out;
  for (const auto& word : values_of(option)) {
    out.push_back({word.starts_with(':') ? word : before + word, {}});
  }
  return out;
}

list options(const CLI::App& command) {
  list out;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) {
      out.push_back({"--" + name, first_sentence(option->get_description())});
    }
  }
  return out;
}

list commands(const CLI::App& command) {
  list out;
  const auto any = [](const CLI::App*) { return true; };
  for (const auto* below : command.get_subcommands(any)) {
    out.push_back({below->get_name(), first_sentence(below->get_description())});
  }
  return out;
}

/// What may stand where no option does.
list positionals(const CLI::App& command) {
  list out;
  for (const auto* option : command.get_options()) {
    if (option->nonpositional()) continue;
    std::ranges::move(values(*option, {}), std::back_inserter(out));
  }
  return out;
}

}  // namespace

std::vector<completion> completions(const CLI::App& program,
                                    const std::vector<std::string>& words) {
  const auto last = words.empty() || words.back() == "=" ? std::string() : words.back();
  const auto now = reached(program, words);
  if (now.is_foreign) return {{completion::file, {}}};
  if (now.waiting != nullptr) return begun_with(values(*now.waiting, {}), last);
  if (const auto equals = last.find('='); last.starts_with("--") && equals != last.npos) {
    const auto* const option = option_with_value(*now.command, last.substr(0, equals));
    if (option == nullptr) return {};
    return begun_with(values(*option, last.substr(0, equals + 1)), last);
  }
  if (last.starts_with('-')) return begun_with(options(*now.command), last);
  auto out = commands(*now.command);
  if (out.empty()) out = positionals(*now.command);
  return begun_with(std::move(out), last);
}

}  // namespace onceguard::cli::shell
