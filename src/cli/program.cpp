#include "cli/program.hpp"

#include <algorithm>
#include <exception>
#include <iostream>

#include <CLI/CLI.hpp>

#include <onceguard/version.hpp>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/hidden_arguments.hpp"
#include "cli/late/late_library.hpp"
#include "cli/standard_streams.hpp"
#include "cli/wrong_usage.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace onceguard::cli {

int run_program(int argc, char** argv) {
  prepare_standard_streams();
  late::refuse_urls_without_library();
  auto arguments = with_options(take_arguments(argc, argv));
  sqlite::set_up_library();
  CLI::App app("Makes an operation that may arrive more than once take effect once.", "onceguard");
  app.set_version_flag("--version", "onceguard " + std::string(version) + " (SQLite " +
                                        sqlite::library_version() + ")");
  app.require_subcommand(1);
  app.footer(
      "Example:\n"
      "  onceguard gateway --listen 127.0.0.1:8080 --upstream http://127.0.0.1:9000\n\n"
      "Exit codes: 0 ok, 1 failed at run time, 2 wrong usage, 3 wrong configuration,\n"
      "4 store out of reach, 5 not found; of send also 6 refused, 7 gave up, 8 outcome unknown.");
  command_line line;
  const command program(app, line);
  add_commands(program, arguments.empty() ? std::string_view() : arguments.front());
  take_words(line, arguments);
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& wrong) {
    // --help and --version also arrive here, but are no errors.
    if (wrong.get_exit_code() == 0 && !names_unknown_command(app)) {
      return end_of_output(app.exit(wrong));
    }
    std::cerr << "onceguard: " << wrong_usage(app, wrong) << "\n";
    return exit_usage;
  } catch (const std::exception& fault) {
    std::cerr << "onceguard: " << fault.what() << "\n";
    line.exit_code = exit_failed;
  }
  return end_of_output(line.exit_code);
}

}  // namespace onceguard::cli
