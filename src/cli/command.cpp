#include "cli/command.hpp"

#include <utility>

#include <CLI/CLI.hpp>

namespace onceguard::cli {

argument argument::type(const std::string& name) const {
  on_->type_name(name);
  return *this;
}

argument argument::group(const std::string& name) const {
  on_->group(name);
  return *this;
}

argument argument::required() const {
  on_->required();
  return *this;
}

argument argument::once() const {
  on_->expected(1);
  return *this;
}

argument argument::one_at_a_time() const {
  on_->allow_extra_args(false);
  return *this;
}

argument argument::check(std::function<std::string(const std::string&)> fault_of) const {
  on_->check(std::move(fault_of));
  return *this;
}

argument argument::one_of(const std::vector<std::string>& values) const {
  on_->check(CLI::IsMember(values));
  return *this;
}

argument argument::range(int from, int to) const {
  on_->check(CLI::Range(from, to));
  return *this;
}

argument argument::existing_file() const {
  on_->check(CLI::ExistingFile);
  return *this;
}

argument argument::excludes(const argument& other) const {
  on_->excludes(other.on_);
  return *this;
}

command command::add_command(const std::string& name, const std::string& text) const {
  return {*on_->add_subcommand(name, text), *exit_code_};
}

void command::needs_command() const { on_->require_subcommand(1); }

argument command::add_flag(const std::string& names, bool& given, const std::string& text) const {
  return argument(*on_->add_flag(names, given, text));
}

argument command::add_flag(const std::string& names, std::function<void()> given,
                           const std::string& text) const {
  return argument(*on_->add_flag_callback(names, std::move(given), text));
}

argument command::add_option(const std::string& names, std::string& value,
                             const std::string& text) const {
  return argument(*on_->add_option(names, value, text));
}

argument command::add_option(const std::string& names, std::vector<std::string>& values,
                             const std::string& text) const {
  return argument(*on_->add_option(names, values, text));
}

argument command::add_option(const std::string& names, std::size_t& value,
                             const std::string& text) const {
  return argument(*on_->add_option(names, value, text));
}

argument command::add_option(const std::string& names, int& value, const std::string& text) const {
  return argument(*on_->add_option(names, value, text));
}

void command::footer(const std::string& text) const { on_->footer(text); }

void command::runs(std::function<int()> act) const {
  on_->callback([act = std::move(act), leave = exit_code_] { *leave = act(); });
}

}  // namespace onceguard::cli
