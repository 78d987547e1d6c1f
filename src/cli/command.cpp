#include "cli/command.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/url.hpp"
#include "config/texts.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {

argument argument::type(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

argument argument::group(const std::string& name) const {
  option_->group(name);
  return *this;
}

argument argument::required() const {
  option_->required();
  return *this;
}

argument argument::once() const {
  option_->expected(1);
  return *this;
}

argument argument::check(std::function<std::string(const std::string&)> fault_of) const {
  option_->check(std::move(fault_of));
  return *this;
}

argument argument::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

argument argument::existing_file() const {
  option_->check(CLI::ExistingFile);
  return *this;
}

argument argument::excludes(const argument& other) const {
  option_->excludes(other.option_);
  return *this;
}

argument argument::needs(const argument& other) const {
  option_->needs(other.option_);
  return *this;
}

command command::add_command(const std::string& name, const std::string& text) const {
  return {*app_->add_subcommand(name, text), *line_};
}

void command::needs_command() const { app_->require_subcommand(1); }

argument command::add_flag(const std::string& names, bool& given, const std::string& text) const {
  return argument(*app_->add_flag(names, given, text));
}

argument command::add_flag(const std::string& names, std::function<void()> given,
                           const std::string& text) const {
  return argument(*app_->add_flag_callback(names, std::move(given), text));
}

argument command::add_option(const std::string& names, std::string& value,
                             const std::string& text) const {
  return argument(*app_->add_option(names, value, text));
}

argument command::add_option(const std::string& names, std::vector<std::string>& values,
                             const std::string& text) const {
  auto* const added = app_->add_option(names, values, text);
  // Extra arguments would make a list of a value like "[a,b]", too.
  if (names.starts_with('-')) added->allow_extra_args(false);
  return argument(*added);
}

void command::add_words(std::vector<std::string>& words, const std::string& text) const {
  line_->words = &words;
  // For the help, and for whoever forgets the "--": else the options of the other program would be
  // taken for ours.
  const auto refuse = [](const std::string&) {
    throw CLI::ValidationError("COMMAND and its arguments stand behind --, as in: -- rsync -a");
  };
  app_->add_option_function<std::string>("COMMAND", refuse, text)->type_name("...");
}

argument command::add_number(const std::string& name, std::size_t& value, const std::string& text,
                             std::size_t least, std::size_t most) const {
  const auto take = [&value, name, least, most](const std::string& given) {
    std::size_t number = 0;
    const auto* end = given.data() + given.size();
    const auto [stopped, failed] = std::from_chars(given.data(), end, number);
    if (failed != std::errc() || stopped != end || number < least || number > most) {
      throw CLI::ValidationError(name, "expected a whole number from " + std::to_string(least) +
                                           " to " + std::to_string(most) + ", got " +
                                           json_string(given, true));
    }
    value = number;
  };
  return argument(*app_->add_option_function<std::string>(name, take, text)->type_name("NUMBER"));
}

void command::footer(const std::string& text) const { app_->footer(text); }

void command::runs(std::function<int()> act) const {
  app_->callback([act = std::move(act), line = line_] { line->exit_code = act(); });
}

std::vector<std::string> with_options(std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  } else if (arguments.front() == "version") {
    arguments.front() = "--version";
  }
  return arguments;
}

void take_words(const command_line& line, std::vector<std::string>& arguments) {
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  if (line.words == nullptr || mark == arguments.end()) return;
  line.words->assign(std::next(mark), arguments.end());
  arguments.erase(mark, arguments.end());
}

namespace {

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// A mistyped command line may have a URL, which can include a password, in place of the command's
/// name, or a secret after an option's "=".
std::string as_shown(const std::string& word) {
  const auto shown = base::before_authority(word);
  if (shown.size() < word.size()) return json_string(std::string(shown) + "...", true);
  return json_string(is_option(word) ? word.substr(0, word.find('=')) : word, true);
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
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

std::string with_commas(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
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
std::string unexpected(const CLI::App& reached, const CLI::App& last, const std::string& word) {
  if (!is_option(word)) return "unexpected argument " + as_shown(word);
  const auto name = word.substr(0, word.find('='));
  auto hint = meant(name, options_of(reached));
  if (hint.empty() && &reached != &last) {
    hint = meant(name, options_of(last));
    if (!hint.empty()) hint = "; options of " + last.get_name() + " stand behind it" + hint;
  }
  return "unknown option " + as_shown(word) + hint;
}

std::string fault_of(const std::vector<const CLI::App*>& steps, const CLI::ParseError& failure) {
  const auto& last = *steps.back();
  const auto left = last.remaining();
  const auto word = std::find_if_not(left.begin(), left.end(), is_option);
  if (const auto names = commands_of(last); !names.empty()) {
    const auto choice = "\nThe commands are: " + with_commas(names);
    if (left.empty()) return "a command is missing" + choice;
    if (word == left.end()) return unexpected(last, last, left.front());
    return "unknown command " + as_shown(*word) + meant(*word, names) + choice;
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&failure) == nullptr) return failure.what();
  for (const auto* step : steps) {
    if (const auto extra = step->remaining(); !extra.empty()) {
      return unexpected(*step, last, extra.front());
    }
  }
  return failure.what();
}

}  // namespace

int end_with(int exit_code, const std::string& text) {
  std::cerr << "onceguard: " << terminal_text(text) << "\n";
  return exit_code;
}

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
