// A command of the program and its flags. Wraps the part of CLI11 that the commands need, because
// the CLI11 header adds seconds to the compilation of every file that includes it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace onceguard::cli {

/// One flag, option or positional argument of a command.
class argument {
 public:
  explicit argument(CLI::Option& Option) : option_(&Option) {}

  /// The name that the help shows for the value; empty: none.
  argument type(const std::string& name) const;
  argument group(const std::string& name) const;
  argument required() const;
  /// At most once on a command line.
  argument once() const;
  /// `fault_of` returns an empty text for a valid value.
  argument check(std::function<std::string(const std::string&)> fault_of) const;
  argument one_of(const std::vector<std::string>& values) const;
  argument existing_file() const;
  argument excludes(const argument& other) const;
  argument needs(const argument& other) const;

 private:
  CLI::Option* option_;
};

/// One command line, beside its options.
struct command_line {
  int exit_code = 0;                          ///< of the command that ran
  std::vector<std::string>* words = nullptr;  ///< takes what stands behind "--": add_words()
};

/// `version` is `--version`, and `help COMMAND` is `COMMAND --help`.
[[nodiscard]] std::vector<std::string> with_options(std::vector<std::string> arguments);
/// Moves what stands behind the first "--" to where the command takes it. The option parser never
/// sees it: it would take a word like `["pay",100]` for a list.
void take_words(const command_line& line, std::vector<std::string>& arguments);

/// A command. Objects that receive values must live as long as the callback.
class command {
 public:
  command(CLI::App& App, command_line& Line) : app_(&App), line_(&Line) {}

  [[nodiscard]] command add_command(const std::string& name, const std::string& text) const;
  /// Running the program requires a subcommand of this command.
  void needs_command() const;

  argument add_flag(const std::string& names, bool& given, const std::string& text) const;
  argument add_flag(const std::string& names, std::function<void()> given,
                    const std::string& text) const;
  argument add_option(const std::string& names, std::string& value, const std::string& text) const;
  /// An option takes one value each time that it is given; a positional argument, all words.
  argument add_option(const std::string& names, std::vector<std::string>& values,
                      const std::string& text) const;
  /// The words of another program's command line, which stand behind "--" as they are.
  void add_words(std::vector<std::string>& words, const std::string& text) const;
  /// A whole number from `least` to `most`, in decimal digits only.
  argument add_number(const std::string& name, std::size_t& value, const std::string& text,
                      std::size_t least = 0, std::size_t most = SIZE_MAX) const;

  /// The text below the help.
  void footer(const std::string& text) const;
  /// Sets the callback, which runs during the parsing of the command line if this command is given.
  void runs(std::function<int()> act) const;

 private:
  CLI::App* app_;
  command_line* line_;
};

/// Writes a line for people to standard error, behind the program's name. Returns the exit code.
int end_with(int exit_code, const std::string& text);

/// Whether the command line, of which help was asked, names a command that there is not.
[[nodiscard]] bool names_unknown_command(const CLI::App& program);
/// Describes the fault of a command line and suggests what may have been intended.
[[nodiscard]] std::string wrong_usage(const CLI::App& program, const CLI::ParseError& failure);

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

// The subcommands, one file each. Each function adds its subcommand to the program.

void add_gateway_command(command app);
void add_consume_command(command app);
void add_relay_command(command app);
void add_exec_command(command app);
void add_mcp_command(command app);
void add_demo_command(command app);
void add_send_command(command app);
void add_health_command(command app);
void add_check_command(command app);
void add_doctor_command(command app);
void add_explain_command(command app);
void add_advise_command(command app);
void add_conformance_command(command app);
void add_keys_command(command app);
void add_messages_command(command app);
void add_stats_command(command app);
void add_report_command(command app);
void add_reconcile_command(command app);
void add_sweep_command(command app);
void add_migrate_command(command app);
void add_backup_command(command app);
void add_restore_command(command app);

// The subcommands of `onceguard keys`.
void add_keys_list_command(command keys);
void add_keys_show_command(command keys);
void add_keys_release_command(command keys);
void add_keys_complete_command(command keys);
void add_keys_export_command(command keys);
void add_keys_import_command(command keys);

// The subcommands of `onceguard messages` that change something.
void add_messages_retry_command(command messages);
void add_messages_drop_command(command messages);

}  // namespace onceguard::cli
