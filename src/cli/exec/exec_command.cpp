#include <atomic>
#include <exception>
#include <memory>
#include <poll.h>
#include <span>
#include <unistd.h>
#include <variant>

#include <climits>

#include <onceguard/key.hpp>

#include "base/log.hpp"
#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/exec/exec_run.hpp"
#include "cli/exec/mending_commands.hpp"
#include "cli/exec/signal_relay.hpp"
#include "cli/given_flags.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::cli::exec {
namespace {

std::string key_fault(const std::string& text) {
  if (text.empty()) return "expected a text, got an empty one";
  return text.size() <= key_size_max
             ? std::string()
             : "a key has 255 bytes at most, and this one has " + std::to_string(text.size());
}

/// Says at once why the end of a command can't be recorded, though it is tried on: a store may get
/// room, or answer again. Comes from the thread that renews the lease: waits for no reader.
class settle_failures final : public base::log_sink {
 public:
  void write(const base::event_info& event, base::log_level,
             std::span<const base::log_field> fields) override {
    if (event.id != base::event::settle_failed || lines_++ > 0) return;
    // Of the settle, and then of the end of this process.
    const auto longest = 2 * engine_params{}.settle_wait;
    std::string why = "the store can't be told how the command ended";
    for (const auto& each : fields) {
      const auto* const text = std::get_if<std::string_view>(&each.value);
      if (each.name == "why" && text != nullptr) why += " (" + std::string(*text) + ")";
    }
    why = "onceguard: " + why + "; trying for " + base::duration_text(longest) + "\n";
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (why.size() > PIPE_BUF || ::poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT) return;
    static_cast<void>(::write(STDERR_FILENO, why.data(), why.size()));
  }

 private:
  std::atomic<int> lines_ = 0;
};

int run_checked(const given_flags& flags, exec_request given) {
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
  given.store_flag = store_flag_of(sources_of(flags, false));
  signal_relay signals;
  int code = exit_exec_failed;
  if (settings->log.file.empty()) {
    // Standard error is the command's: what happened is reported there in a line.
    settle_failures failures;
    base::set_log_sink(&failures);
    code = run_once(given, *settings, signals);
    base::set_log_sink(nullptr);
  } else {
    const auto descriptor = log::log_descriptor(settings->log);
    if (!descriptor) return exit_exec_failed;
    log::log_lines lines(settings->log, *descriptor);
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
  added.add(
      {{"--key",
        &given.key,
        "The idempotency key: what makes two calls one",
        {.type = "KEY", .required = true, .once = true, .check = key_fault}},
       {"--scope", &given.scope, "Whom the key belongs to", single("TEXT")},
       {"--fingerprint", &given.fingerprint,
        "What two calls with one key must have in common [the command's words]", single("TEXT")}});
}

void add_repeat_options(const command& added, exec_request& given) {
  added.add(
      {{"--wait", &given.wait, "Wait as long for the same command that is running [not at all]",
        a_period()},
       {"--fresh-after", &given.fresh_after, "Run anew when the last success is older [never]",
        a_period()},
       {"--every", &given.every,
        "At most one run in each such period; other calls do nothing and exit with 0",
        not_with("--fresh-after", a_period())},
       {"--on-unknown", &given.unknown, "If nobody knows whether an earlier run took effect [hold]",
        one_of({"hold", "rerun", "probe"})},
       {"--probe", &given.probe, "A shell command that finds out: exit code 0 it did, 1 it did not",
        single("COMMAND")}});
}

void add_run_options(const command& added, exec_request& given) {
  added.add(
      {{"--success", &given.success, "Exit codes that are kept for repeats, or any [0]",
        typed("CODES")},
       {"--failure", &given.failure, "What other exit codes mean [fail: may run again]",
        one_of({"fail", "release", "complete", "unknown"})},
       {"--retry", &given.retries, "So many more attempts after a failure [0]", between(0, 1'000)},
       {"--timeout", &given.timeout, "End the command when it takes longer [never]", a_period()},
       {"--grace", &given.grace, "From SIGTERM to SIGKILL where it is ended [10s]", a_period()},
       {"--run-on", &given.run_on, "Don't end the command when its lease is lost"},
       {"--output-dir", &given.output_folder,
        "Where output beyond 256 KiB is kept [beside the SQLite file, or in the user's "
        "state directory]",
        single("DIRECTORY")},
       {"--verbose", &given.verbose, "Say on standard error what was done"}});
}

}  // namespace

void add_exec_command(const command& added) {
  const auto given = std::make_shared<exec_request>();
  added.add_words(given->words, "The command and its arguments, behind --");
  add_key_options(added, *given);
  add_repeat_options(added, *given);
  add_run_options(added, *given);
  const auto flags = add_store_flags(added, {"lease", "backoff", "backoff-max", "state-dir",
                                             "log-file", "log-level", "log-format"});
  added.runs([=] { return run_exec(*flags, *given); });
}

}  // namespace onceguard::cli::exec
