#include "cli/wrong_usage.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/comma_list.hpp"
#include "base/url.hpp"
#include "config/table/parsers.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// A mistyped command line may have a URL, which can include a password, in place of the command's
/// name, or a secret after an option's "=".
std::string shown_word(const std::string& word) {
  const auto shown = base::before_authority(word);
  if (shown.size() < word.size()) return json_string(std::string(shown) + "...", true);
  return json_string(is_option(word) ? word.substr(0, word.find('=')) : word, true);
}

std::string meant_word(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto name = config::nearest(word, names);
  return name.empty() ? std::string() : "; did you mean " + config::quoted(name) + "?";
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  const auto any = [](const CLI::App*) { return true; };
  for (const auto* below : command.get_subcommands(any)) names.push_back(below->get_name());
  return names;
}

/// The commands from the program to the command that was reached.
std::vector<const CLI::App*> steps_of(const CLI::App& program) {
  std::vector<const CLI::App*> steps{&program};
  while (!steps.back()->get_subcommands().empty()) {
    steps.push_back(steps.back()->get_subcommands().front());
  }
  return steps;
}

/// `reached` is the command at which the word stands; `last`, the last one of the line, may have
/// the option that was meant.
std::string unexpected_argument(const CLI::App& reached, const CLI::App& last,
                                const std::string& word) {
  if (!is_option(word)) return "unexpected argument " + shown_word(word);
  const auto name = word.substr(0, word.find('='));
  auto hint = meant_word(name, options_of(reached));
  if (hint.empty() && &reached != &last) {
    hint = meant_word(name, options_of(last));
    if (!hint.empty()) hint = "; options of " + last.get_name() + " stand behind it" + hint;
  }
  return "unknown option " + shown_word(word) + hint;
}

std::string fault_of(const std::vector<const CLI::App*>& steps, const CLI::ParseError& failure) {
  const auto& last = *steps.back();
  const auto left = last.remaining();
  const auto word = std::find_if_not(left.begin(), left.end(), is_option);
  if (const auto names = commands_of(last); !names.empty()) {
    const auto choice = "\nThe commands are: " + base::comma_list(names);
    if (left.empty()) return "a command is missing" + choice;
    if (word == left.end()) return unexpected_argument(last, last, left.front());
    return "unknown command " + shown_word(*word) + meant_word(*word, names) + choice;
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) == nullptr) return failure.what();
  for (const auto* step : steps) {
    if (const auto extra = step->remaining(); !extra.empty()) {
      return unexpected_argument(*step, last, extra.front());
    }
  }
  return failure.what();
}

}  // namespace

bool names_unknown_command(const CLI::App& program) {
  const auto& last = *steps_of(program).back();
  const auto left = last.remaining();
  return !commands_of(last).empty() && !std::all_of(left.begin(), left.end(), is_option);
}

std::string wrong_usage(const CLI::App& program, const CLI::ParseError& failure) {
  const auto steps = steps_of(program);
  std::string command;
  for (const auto* step : steps) command += step->get_name() + " ";
  return fault_of(steps, failure) + "\nSee: " + command + "--help";
}

}  // namespace onceguard::cli
