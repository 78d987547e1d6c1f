// A command of the program and its flags: what the commands need of CLI11, whose header costs
// every file that includes it seconds to compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace onceguard::cli {

/// One flag, option or positional argument of a command.
class argument {
 public:
  explicit argument(CLI::Option& Option) : on_(&Option) {}

  /// What the help says in the place of the value; empty: nothing.
  argument type(const std::string& name) const;
  argument group(const std::string& name) const;
  argument required() const;
  /// At most once on a command line.
  argument once() const;
  /// One value each time that it is given, not all that follow.
  argument one_at_a_time() const;
  /// An empty text of `fault_of` means that the value is fine.
  argument check(std::function<std::string(const std::string&)> fault_of) const;
  argument one_of(const std::vector<std::string>& values) const;
  argument existing_file() const;
  argument excludes(const argument& other) const;

 private:
  CLI::Option* on_;
};

/// A command. What is handed in for the values must live as long as the callback.
class command {
 public:
  /// `exit_code` is where a command that runs leaves its own.
  command(CLI::App& App, int& exit_code) : on_(&App), exit_code_(&exit_code) {}

  [[nodiscard]] command add_command(const std::string& name, const std::string& text) const;
  /// Nothing happens but through a command below this one.
  void needs_command() const;

  argument add_flag(const std::string& names, bool& given, const std::string& text) const;
  argument add_flag(const std::string& names, std::function<void()> given,
                    const std::string& text) const;
  argument add_option(const std::string& names, std::string& value, const std::string& text) const;
  argument add_option(const std::string& names, std::vector<std::string>& values,
                      const std::string& text) const;
  /// A whole number from `least` to `most`, in decimal digits and nothing else.
  argument add_number(const std::string& name, std::size_t& value, const std::string& text,
                      std::size_t least = 0, std::size_t most = SIZE_MAX) const;

  /// What stands below the help.
  void footer(const std::string& text) const;
  /// Runs while the command line is parsed, when it is this command that was asked for.
  void runs(std::function<int()> act) const;

 private:
  CLI::App* on_;
  int* exit_code_;
};

}  // namespace onceguard::cli
