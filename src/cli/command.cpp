#include "cli/command.hpp"

#include <charconv>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/json_text.hpp"

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

argument argument::one_at_a_time() const {
  option_->allow_extra_args(false);
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

command command::add_command(const std::string& name, const std::string& text) const {
  return {*app_->add_subcommand(name, text), *exit_code_};
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
  return argument(*app_->add_option(names, values, text));
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
  app_->callback([act = std::move(act), leave = exit_code_] { *leave = act(); });
}

}  // namespace onceguard::cli
