#include <exception>
#include <iostream>
#include <memory>

#include <onceguard/key.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/exec/exec_run.hpp"
#include "cli/exec/signal_relay.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "config/texts.hpp"

namespace onceguard::cli {
namespace {

std::string key_fault(const std::string& text) {
  if (text.empty()) return "expected a text, got an empty one";
  return text.size() <= key_size_max ? std::string() : "a key has 255 bytes at most";
}

int run_checked(const given_flags& flags, const exec_request& given) {
  if (given.words.empty() || given.words.front().empty()) {
    const auto* const fault = given.words.empty() ? "a command is missing" : "the command is empty";
    return end_with(exit_usage,
                    std::string(fault) + ", as in: -- COMMAND\nSee: onceguard exec --help");
  }
  if ((given.unknown == "probe") == given.probe.empty()) {
    return end_with(exit_usage, "--on-unknown probe and --probe COMMAND belong together");
  }
  if (const auto codes = codes_of(given.success); !codes) {
    return end_with(exit_usage, "--success: " + codes.error().detail);
  }
  const auto settings = load_settings(flags, false);
  if (!settings) return exit_configuration;
  signal_relay signals;
  int code = exit_exec_failed;
  if (settings->log.file.empty()) {
    // Standard error is the command's: what happened is reported there in a line.
    code = run_once(given, *settings, signals);
  } else {
    const auto descriptor = log_descriptor(settings->log);
    if (!descriptor) return exit_exec_failed;
    log_lines lines(settings->log, *descriptor);
    base::set_log_sink(&lines);
    code = run_once(given, *settings, signals);
    lines.flush();
    base::set_log_sink(nullptr);
  }
  signals.end_by_signal(code);
  return code;
}

/// 1 is an exit code of commands.
int run_exec(const given_flags& flags, const exec_request& given) {
  try {
    return run_checked(flags, given);
  } catch (const std::exception& fault) {
    base::set_log_sink(nullptr);
    return end_with(exit_exec_failed, fault.what());
  }
}

void add_key_options(const command& added, exec_request& given) {
  added.add_option("--key", given.key, "The idempotency key: what makes two calls one")
      .type("KEY")
      .required()
      .once()
      .check(key_fault);
  added.add_option("--scope", given.scope, "Whom the key belongs to").type("TEXT").once();
  added
      .add_option("--fingerprint", given.fingerprint,
                  "What two calls with one key must have in common [the command's words]")
      .type("TEXT")
      .once();
}

void add_repeat_options(const command& added, exec_request& given) {
  added
      .add_option("--wait", given.wait,
                  "Wait as long for the same command that is running [not at all]")
      .type("TIME")
      .once()
      .check(period_fault);
  const auto fresh = added
                         .add_option("--fresh-after", given.fresh_after,
                                     "Run anew when the last success is older [never]")
                         .type("TIME")
                         .once()
                         .check(period_fault);
  added
      .add_option("--every", given.every,
                  "At most one run in each such period; other calls do nothing and exit with 0")
      .type("TIME")
      .once()
      .check(period_fault)
      .excludes(fresh);
  added
      .add_option("--on-unknown", given.unknown,
                  "If nobody knows whether an earlier run took effect [hold]")
      .once()
      .one_of({"hold", "rerun", "probe"});
  added
      .add_option("--probe", given.probe,
                  "A shell command that finds out: exit code 0 it did, 1 it did not")
      .type("COMMAND")
      .once();
}

void add_run_options(const command& added, exec_request& given) {
  added.add_option("--success", given.success, "Exit codes that are kept for repeats, or any [0]")
      .type("CODES");
  added.add_option("--failure", given.failure, "What other exit codes mean [fail: may run again]")
      .once()
      .one_of({"fail", "release", "complete", "unknown"});
  added.add_number("--retry", given.retries, "So many more attempts after a failure [0]", 0, 1'000);
  added.add_option("--timeout", given.timeout, "End the command when it takes longer [never]")
      .type("TIME")
      .once()
      .check(period_fault);
  added.add_option("--grace", given.grace, "From SIGTERM to SIGKILL where it is ended [10s]")
      .type("TIME")
      .once()
      .check(period_fault);
  added.add_flag("--run-on", given.run_on, "Don't end the command when its lease is lost");
  added
      .add_option("--output-dir", given.output_folder,
                  "Where output beyond 256 KiB is kept [beside the SQLite file, or in the user's "
                  "state directory]")
      .type("DIRECTORY")
      .once();
  added.add_flag("--verbose", given.verbose, "Say on standard error what was done");
}

}  // namespace

void add_exec_command(command app) {
  const auto added = app.add_command("exec", "Run a command once per key");
  const auto given = std::make_shared<exec_request>();
  added.add_words(given->words, "The command and its arguments, behind --");
  add_key_options(added, *given);
  add_repeat_options(added, *given);
  add_run_options(added, *given);
  const auto flags = add_store_flags(added, {"lease", "backoff", "backoff-max", "state-dir",
                                             "log-file", "log-level", "log-format"});
  added.footer(
      "A repeat prints what the first run printed and exits with its code. The command finds key,\n"
      "attempt and token in ONCEGUARD_IDEMPOTENCY_KEY, ONCEGUARD_ATTEMPT and ONCEGUARD_TOKEN.\n\n"
      "Exit codes: the command's own (128+N: by signal N), and of onceguard: 2 wrong usage, 3 "
      "wrong\n"
      "configuration, 75 the same command later, 120 the key belongs to another command, 121 the\n"
      "outcome of an earlier run is unknown, 122 it ran and is not recorded, 125 it failed "
      "itself,\n"
      "126 the command can't be started, 127 there is no such command.\n\n"
      "Examples:\n"
      "  onceguard exec --key deploy-1.4.2 -- ./deploy 1.4.2\n"
      "  onceguard exec --key nightly --every 1d --store postgresql://db/jobs -- ./report");
  added.runs([=] { return run_exec(*flags, *given); });
}

}  // namespace onceguard::cli
