#include "cli/command.hpp"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/number_in.hpp"
#include "base/url.hpp"
#include "config/table/parsers.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {

argument_terms typed(const char* type, argument_check check) {
  return {.type = type, .check = std::move(check)};
}
argument_terms single(const char* type, argument_check check) {
  return {.type = type, .once = true, .check = std::move(check)};
}
argument_terms required(const char* type, argument_check check) {
  return {.type = type, .required = true, .check = std::move(check)};
}
std::string period_fault(const std::string& text) {
  const auto read = config::parse_duration(text);
  if (!read) return read.error().detail;
  return read->count() > 0 ? std::string() : "expected more than 0";
}
argument_terms a_period() { return single("TIME", period_fault); }
argument_terms one_of(std::vector<std::string> words) {
  return {.once = true, .one_of = std::move(words)};
}
argument_terms any_of(std::vector<std::string> words, const char* type) {
  return {.type = type, .one_of = std::move(words)};
}
argument_terms between(std::size_t least, std::size_t most, const char* type) {
  return {.type = type, .least = least, .most = most};
}
argument_terms not_with(const char* other, argument_terms terms) {
  terms.excludes = other;
  return terms;
}
argument_terms only_with(const char* other, argument_terms terms) {
  terms.needs = other;
  return terms;
}

namespace {

CLI::Option* add_to(CLI::App& app, const argument& row, bool* given) {
  return app.add_flag(row.names, *given, row.text);
}
CLI::Option* add_to(CLI::App& app, const argument& row, const std::function<void()>& given) {
  return app.add_flag_callback(row.names, given, row.text);
}
CLI::Option* add_to(CLI::App& app, const argument& row, std::string* value) {
  return app.add_option(row.names, *value, row.text);
}
CLI::Option* add_to(CLI::App& app, const argument& row, std::vector<std::string>* values) {
  auto* const added = app.add_option(row.names, *values, row.text);
  added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  // Extra arguments would make a list of a value like "[a,b]", too. Without them, a positional
  // argument takes its least number of words and no more.
  added->allow_extra_args(false);
  constexpr int any_number = CLI::detail::expected_max_vector_size;
  if (!row.names.starts_with('-')) added->expected(any_number, any_number);
  return added;
}
CLI::Option* add_to(CLI::App& app, const argument& row, std::size_t* value) {
  const auto take = [value, name = row.names, least = row.terms.least,
                     most = row.terms.most](const std::string& given) {
    const auto number = base::number_in<std::size_t>(given, least, most);
    if (!number) {
      throw CLI::ValidationError(name, "expected a whole number from " + std::to_string(least) +
                                           " to " + std::to_string(most) + ", got " +
                                           json_string(given, true));
    }
    *value = *number;
  };
  return app.add_option_function<std::string>(row.names, take, row.text)->type_name("NUMBER");
}

}  // namespace

command command::add_command(const std::string& name, const std::string& text,
                             const std::string& help) const {
  auto* const added = app_->add_subcommand(name, text);
  added->footer(help);
  return {*added, *line_};
}

void command::needs_command() const { app_->require_subcommand(1); }

void command::add(const std::vector<argument>& arguments) const {
  for (const auto& each : arguments) {
    const auto& terms = each.terms;
    auto* const option =
        std::visit([&](const auto& value) { return add_to(*app_, each, value); }, each.value);
    if (terms.type) option->type_name(*terms.type);
    if (!terms.group.empty()) option->group(terms.group);
    if (terms.required) option->required();
    if (terms.once) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (terms.check) option->check(terms.check);
    if (!terms.one_of.empty()) option->check(CLI::IsMember(terms.one_of));
    if (terms.existing_file) option->check(CLI::ExistingFile);
    if (terms.excludes != nullptr) option->excludes(app_->get_option(terms.excludes));
    if (terms.needs != nullptr) option->needs(app_->get_option(terms.needs));
  }
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
    const auto choice = "\nThe commands are: " + with_commas(names);
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
