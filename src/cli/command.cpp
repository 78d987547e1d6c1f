#include "cli/command.hpp"

#include <iostream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/number_in.hpp"
#include "cli/command_line.hpp"
#include "text/json_text.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli {

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

int end_with(int exit_code, const std::string& text) {
  std::cerr << "onceguard: " << terminal_text(text) << "\n";
  return exit_code;
}

}  // namespace onceguard::cli
