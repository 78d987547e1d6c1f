#include "cli/exec/exec_run.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <climits>

#include <onceguard/command.hpp>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/stoppable_wait.hpp"
#include "base/value_text.hpp"
#include "cli/command.hpp"
#include "cli/exec/mending_commands.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::exec {
namespace {

constexpr milliseconds for_ever{std::chrono::hours(24 * 36'500)};

milliseconds period(const std::string& text, milliseconds otherwise) {
  return text.empty() ? otherwise : config::parse_duration(text).value();
}

/// Beside a SQLite database, else among the user's own files. Empty: there is no such place.
std::string output_folder_for(const std::string& store_url) {
  if (const auto path = sqlite_path_of(store_url); !path.empty()) return path + ".output";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    return std::string(state) + "/onceguard/output";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.local/state/onceguard/output";
  }
  return {};
}

// ---- standard streams

/// This process's standard output and error. What nobody reads is dropped.
class shown_output {
 public:
  /// A stop request ends the wait for a reader.
  explicit shown_output(std::stop_token stop)
      : stopped_(::eventfd(0, EFD_CLOEXEC)), on_stop_(std::move(stop), stopping{stopped_.get()}) {}

  void write(output_stream stream, std::string_view bytes) {
    const int descriptor = stream == output_stream::err ? STDERR_FILENO : STDOUT_FILENO;
    int& failed = stream == output_stream::err ? err_failed_ : out_failed_;
    while (failed == 0 && !bytes.empty()) {
      std::array<pollfd, 2> waiting{{{descriptor, POLLOUT, 0}, {stopped_.get(), POLLIN, 0}}};
      if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
      if (waiting[0].revents == 0) {
        failed = EPIPE;
        return;
      }
      // A pipe that is ready takes so much without waiting for its reader.
      const auto written =
          ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      if (written > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR && errno != EAGAIN) {
        failed = errno;
      }
    }
  }
  /// Standard output could not be written, and not because its reader had enough.
  [[nodiscard]] bool failed() const noexcept { return out_failed_ != 0 && out_failed_ != EPIPE; }

 private:
  struct stopping {
    int stopped;
    void operator()() const noexcept {
      const std::uint64_t one = 1;
      static_cast<void>(::write(stopped, &one, sizeof one));
    }
  };

  int out_failed_ = 0;
  int err_failed_ = 0;
  base::descriptor stopped_;
  std::stop_callback<stopping> on_stop_;
};

// ---- the run

route_policy policy_of(const exec_request& given, const config::settings& settings) {
  route_policy out;
  out.lease = settings.defaults.lease;
  out.backoff = settings.defaults.backoff;
  out.backoff_max = settings.defaults.backoff_max;
  out.retention = period(given.fresh_after, for_ever);
  if (!given.wait.empty()) {
    out.on_busy = on_busy_rule::wait;
    out.wait = period(given.wait, milliseconds(0));
  }
  if (given.unknown == "rerun") out.unknown = unknown_policy::rerun;
  if (given.unknown == "probe") out.unknown = unknown_policy::probe;
  return out;
}

command_rules rules_of(const exec_request& given, const config::settings& settings) {
  static const std::map<std::string, settle_kind> kinds{{"fail", settle_kind::fail},
                                                        {"release", settle_kind::release},
                                                        {"complete", settle_kind::complete},
                                                        {"unknown", settle_kind::abandon}};
  command_rules out;
  if (!given.success.empty()) out.success = codes_of(given.success).value();
  out.failure = kinds.at(given.failure);
  out.retries = given.retries;
  out.timeout = period(given.timeout, milliseconds(0));
  out.grace = period(given.grace, milliseconds(0));
  out.end_when_lost = !given.run_on;
  out.every = period(given.every, milliseconds(0));
  out.fresh_after = period(given.fresh_after, milliseconds(0));
  // A repeat may have another working directory.
  const auto folder =
      given.output_folder.empty() ? output_folder_for(settings.store.url) : given.output_folder;
  if (!folder.empty()) out.output_folder = absolute_path(folder);
  out.streams = command_streams::shared;
  return out;
}

int report_end(const executed<command_result>& done, const exec_request& given, bool begun,
               const shown_output& shown) {
  const auto& made = done.value;
  if (done.replayed && !given.every.empty()) {
    if (given.verbose) end_with(exit_ok, "ran in this period already");
    return exit_ok;
  }
  if (done.replayed && given.verbose) end_with(exit_ok, "this is the output of the first run");
  if (!made.why.empty() && (done.replayed || made.settled == settle_kind::abandon)) {
    end_with(exit_ok, made.settled == settle_kind::abandon
                          ? made.why + "; it is unknown whether it took effect"
                          : made.why);
  } else if (made.settled == settle_kind::release &&
             (made.exit_code >= exit_not_startable || !begun)) {
    end_with(exit_ok, made.why);
  } else if (!made.why.empty() && given.verbose) {
    end_with(exit_ok, made.why);
  }
  if (shown.failed()) return end_with(exit_exec_failed, "standard output can't be written");
  return made.exit_code;
}

std::string later(const refusal& refused) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(refused.retry_after).count();
  return fmt::format("; the same command later, in {} s at the earliest", std::max(seconds, 1L));
}

/// Nothing was run, and the store does not answer whether it has the claim: waits until it has
/// learnt that. For a lease, after which the record becomes unknown. False: it may have the claim.
bool claim_is_known(guard& records, const route_policy& policy, const std::stop_token& stop) {
  const auto in_doubt = [&] { return records.engine().pending() != 0; };
  const auto begin = base::boot_now();
  const auto longest = std::max(policy.lease, engine_params{}.settle_wait);
  bool reported = false;
  while (in_doubt() && !stop.stop_requested() && base::boot_now() < begin + longest) {
    if (!reported && base::boot_now() >= begin + std::chrono::seconds(1)) {
      reported = true;
      end_with(exit_ok,
               "nothing was run; the store may have the claim, and has to learn that: trying for " +
                   base::duration_text(longest));
    }
    base::wait_unless(stop, std::chrono::milliseconds(20));
  }
  return !in_doubt();
}

int report_refusal(const refusal& refused, const exec_request& given,
                   const config::settings& settings) {
  const bool periodic = !given.every.empty();
  switch (refused.kind) {
    case refusal_kind::busy:
      if (periodic && !given.verbose) return exit_ok;
      return end_with(periodic ? exit_ok : exit_try_later, refused.detail + later(refused));
    case refusal_kind::backoff:
    case refusal_kind::overloaded:
      return end_with(exit_try_later, refused.detail + later(refused));
    case refusal_kind::store_failed:
      return end_with(refused.cause && !needs_person(*refused.cause, settings) ? exit_try_later
                                                                               : exit_exec_failed,
                      refused.detail);
    case refusal_kind::mismatch:
      return end_with(exit_other_command, "the key belongs to another command; nothing was run");
    case refusal_kind::unknown:
      return end_with(exit_outcome_unknown,
                      refused.detail +
                          "; nothing was run, and nothing will be, until you have found out and "
                          "said so:\n" +
                          mending_commands(given, settings));
    case refusal_kind::answer_not_kept:
      if (periodic && !given.verbose) return exit_ok;
      return end_with(exit_ok, "done before; the output and the exit code are not known");
    case refusal_kind::unrecorded:
      return end_with(exit_not_recorded,
                      "the command ran, and the store can't be told how it ended; once its lease "
                      "is over, the\noutcome is unknown, and nothing runs until you have found out "
                      "and said so:\n" +
                          mending_commands(given, settings));
    case refusal_kind::superseded:
      return end_with(exit_not_recorded, refused.detail);
    case refusal_kind::answer_unreadable:
    case refusal_kind::invalid_request:
      break;
  }
  return end_with(exit_exec_failed, refused.detail);
}

int run_in(guard& records, const exec_request& given, const config::settings& settings,
           signal_relay& signals) {
  onceguard::command job;
  job.words = given.words;
  request wanted(given.scope, given.key,
                 given.fingerprint.empty() ? command_fingerprint(job) : given.fingerprint);
  const auto policy = policy_of(given, settings);
  auto rules = rules_of(given, settings);
  rules.policy = &policy;
  rules.signal_mask = &signals.former_mask();
  rules.stop = signals.stop();
  shown_output shown(rules.stop);
  // Of a period that has had its run, nothing is shown: cron would mail it.
  std::atomic<bool> running = given.every.empty();
  rules.on_output = [&](output_stream stream, std::string_view bytes) {
    if (running) shown.write(stream, bytes);
  };
  std::atomic<bool> begun = false;
  rules.on_start = [&](running_command& run) {
    running = begun = true;
    signals.send_to(&run);
  };
  rules.on_end = [&] { signals.send_to(nullptr); };
  const auto done = run_command(records, wanted, job, rules);
  if (done) return report_end(*done, given, begun, shown);
  auto refused = done.error();
  if (refused.kind == refusal_kind::store_failed && !claim_is_known(records, policy, rules.stop)) {
    refused.detail +=
        "; the store can't learn that: if it has the claim, the key will count as of "
        "unknown outcome, and this makes it free:\n" +
        releasing_command(given, settings);
  }
  return report_refusal(refused, given, settings);
}

}  // namespace

namespace {

int report_no_store(const error& why, const config::settings& settings) {
  return end_with(needs_person(why, settings) ? exit_exec_failed : exit_try_later,
                  why.detail + "; nothing was run");
}

}  // namespace

int run_once(const exec_request& given, const config::settings& settings, signal_relay& signals) {
  guard_params params;
  params.store_timeout = settings.store.timeout;
  params.engine.state_dir = settings.gateway.state_dir;
  params.engine.replay_cache = 0;
  if (given.unknown == "probe") {
    onceguard::command question;
    question.words = {"/bin/sh", "-c", given.probe};
    params.probe =
        [ask = probe_by_command(std::move(question), std::chrono::minutes(1), signals.stop()),
         &key = given.key](subject about, const lease& held) {
          about.key = key;  // not as it is kept: the application knows the key itself
          return ask(about, held);
        };
  }
  auto wanted = settings.store;
  wanted.for_a_moment = true;
  auto records = [&]() -> result<guard> {
    try {
      auto store = config::known_stores().open(wanted);
      if (!store) return store.error();
      return guard::open(std::move(*store), std::move(params));
    } catch (const std::exception& fault) {
      return error(errc::invalid_argument,
                   std::string("the store can't be opened: ") + fault.what());
    }
  }();
  if (!records) return report_no_store(records.error(), settings);
  return run_in(*records, given, settings, signals);
}

std::string sqlite_path_of(const std::string& store_url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (!store_url.starts_with(sqlite)) return {};
  auto path = store_url.substr(sqlite.size());
  path = path.substr(0, path.find('?'));
  if (path.starts_with("//")) path.erase(0, 2);
  return path == ":memory:" ? std::string() : path;
}

result<std::set<int>> codes_of(const std::vector<std::string>& given) {
  std::set<int> out;
  for (const auto& text : given) {
    if (text == "any") {
      for (int i = 0; i <= 255; ++i) out.insert(i);
      continue;
    }
    for (std::size_t begin = 0; begin <= text.size();) {
      const auto comma = std::min(text.find(',', begin), text.size());
      const auto word = text.substr(begin, comma - begin);
      const bool digits =
          !word.empty() && word.size() <= 3 && word.find_first_not_of("0123456789") == word.npos;
      const int code = digits ? std::stoi(word) : 256;
      if (code > 255)
        return error(errc::invalid_argument, "expected numbers from 0 to 255, or any");
      out.insert(code);
      begin = comma + 1;
    }
  }
  return out;
}

}  // namespace onceguard::cli::exec
