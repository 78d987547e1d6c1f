// A command of the program and its flags. Wraps the part of CLI11 that the commands need, because
// the CLI11 header adds seconds to the compilation of every file that includes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/argument_terms.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace onceguard::cli {

/// A flag, an option or a positional argument of a command, and where its value goes. A flag has a
/// bool or a function, a number whole decimal digits. An option with a list takes one value each
/// time that it is given, a positional argument all words.
struct argument {
  std::string names;
  std::variant<bool*, std::function<void()>, std::size_t*, std::string*, std::vector<std::string>*>
      value;
  std::string text;
  argument_terms terms{};
};

struct command_line;

/// A command. Objects that receive values must live as long as the callback.
class command {
 public:
  command(CLI::App& App, command_line& Line) : app_(&App), line_(&Line) {}

  /// `help` stands below that of the options.
  [[nodiscard]] command add_command(const std::string& name, const std::string& text,
                                    const std::string& help) const;
  /// Running the program requires a subcommand of this command.
  void needs_command() const;

  /// In the order of the help.
  void add(const std::vector<argument>& arguments) const;
  /// The words of another program's command line, which stand behind "--" as they are.
  void add_words(std::vector<std::string>& words, const std::string& text) const;

  /// Sets the callback, which runs during the parsing of the command line if this command is given.
  void runs(std::function<int()> act) const;

 private:
  CLI::App* app_;
  command_line* line_;
};

/// Writes a line for people to standard error, behind the program's name. Returns the exit code.
int end_with(int exit_code, const std::string& text);

// The program's exit codes. Scripts rely on them.

inline constexpr int exit_ok = 0;
inline constexpr int exit_failed = 1;         ///< at run time
inline constexpr int exit_usage = 2;          ///< unknown flags, missing arguments
inline constexpr int exit_configuration = 3;  ///< a wrong value in file, environment or flag
inline constexpr int exit_store = 4;          ///< the store can't be reached
inline constexpr int exit_not_found = 5;
inline constexpr int exit_refused = 6;  ///< send: the same request fails again
inline constexpr int exit_gave_up = 7;  ///< send: no final answer in time
inline constexpr int exit_unknown = 8;  ///< send: a person must find out what became of it

// Those of exec stand apart from what commands usually end with.

inline constexpr int exit_try_later = 75;         ///< EX_TEMPFAIL of sysexits.h: nothing was run
inline constexpr int exit_other_command = 120;    ///< the key was used with another fingerprint
inline constexpr int exit_outcome_unknown = 121;  ///< of an earlier run
inline constexpr int exit_not_recorded = 122;   ///< the command ran, and the record does not say so
inline constexpr int exit_exec_failed = 125;    ///< as env has it
inline constexpr int exit_not_startable = 126;  ///< the same; 127: there is no such command

/// Adds the subcommand that the first word of the command line names, or else all: to describe the
/// flags of all takes a few milliseconds, which a command that runs often should not cost.
void add_commands(const command& program, std::string_view first_word);

// What each command of commands.inc has beside its row: its options, and what it runs.
#define COMMAND(folder, name, about, help)         \
  namespace folder {                               \
  void add_##name##_command(const command& added); \
  }
#define FAMILY(name, about, help)
#define SUBCOMMAND(folder, family, name, about, help) COMMAND(folder, family##_##name, about, help)
#include "cli/commands.inc"
#undef SUBCOMMAND
#undef FAMILY
#undef COMMAND

}  // namespace onceguard::cli
