#include "command/command_attempt.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace onceguard {
namespace {

using process::time_point;

constexpr int exit_not_found = 127;      // as shells and env have it
constexpr int exit_not_startable = 126;  // the same
/// So often the guardian learns of a renewed lease.
constexpr milliseconds longest_poll{1'000};
constexpr milliseconds shortest_poll{10};

milliseconds pause_between_polls(const attempt_lease& held) {
  return std::clamp(held.length / 12, shortest_poll, longest_poll);
}

/// What a process or its machine has too few of is no fault of the command.
bool is_shortage(int number) noexcept {
  return number == EMFILE || number == ENFILE || number == EAGAIN || number == ENOMEM;
}

attempt_result not_started(const process::start_failure& why) {
  if (is_shortage(why.number)) return nothing_run(why.detail);
  attempt_result out;
  if (why.may_have_begun) {
    out.result.exit_code = 128 + SIGKILL;
    out.result.why = why.detail;
    out.terms.kind = out.result.settled = settle_kind::abandon;
    out.terms.why = unknown_reason::upstream_broken;
    return out;
  }
  out.result.exit_code = why.number == ENOENT ? exit_not_found : exit_not_startable;
  out.result.why = why.detail;
  out.terms.kind = out.result.settled = settle_kind::release;
  return out;
}

}  // namespace

attempt_result nothing_run(const std::string& why) {
  attempt_result out;
  out.result.exit_code = exit_temporary;
  out.result.why = why + "; nothing was run";
  out.terms.kind = out.result.settled = settle_kind::release;
  return out;
}

command_attempt::command_attempt(const command& command, const command_rules& rules,
                                 collected_output& output, output_queue* queue)
    : command_(command),
      rules_(rules),
      streams_(command, rules, output, queue),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (queue != nullptr) queue->on_room([this] { wake(); });
}

void command_attempt::wake() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void command_attempt::give_up() noexcept {
  given_up_ = true;
  wake();
}

void command_attempt::signal(int number) const noexcept {
  if (child_) child_->signal(number);
}

void command_attempt::resize_terminal() const noexcept {
  // The kernel tells those in the foreground of the command's terminal.
  if (!streams_.resize()) signal(SIGWINCH);
}

attempt_result command_attempt::run(std::vector<std::string> environment, attempt_lease held) {
  if (!wake_.is_open()) return not_started({EMFILE, "an event descriptor can't be made"});
  if (const auto made = streams_.open(); !made) return not_started({EMFILE, made.error().detail});
  process::child_params params;
  params.words = command_.words;
  params.environment = std::move(environment);
  for (const auto& [name, value] : command_.environment) {
    params.environment.push_back(name + '=' + value);
  }
  streams_.give(params);
  params.environment = process::environment_behind(std::move(params.environment));
  params.folder = command_.folder;
  if (rules_.signal_mask != nullptr) params.mask = *rules_.signal_mask;
  params.limit = limit_ = limit_of(held);
  auto started = process::child::start(params);
  if (!started) return not_started(started.error());
  child_.emplace(std::move(*started));
  streams_.started();
  if (rules_.on_start) rules_.on_start(*this);
  try {
    follow(held);
  } catch (...) {
    streams_.end();
    if (rules_.on_end) rules_.on_end();
    throw;
  }
  streams_.end();
  if (rules_.on_end) rules_.on_end();
  if (child_->ended() && why_ended_ == ended_by::itself && !child_->time_is_over() && !given_up_) {
    child_->leave();
  } else {
    child_->kill_all();
  }
  return conclude();
}

process::run_limit command_attempt::limit_of(const attempt_lease& held) const {
  process::run_limit out;
  if (!held.left || !rules_.end_when_lost) return out;
  // Read before: whatever time passes between the two, the limit comes too early, not too late.
  const auto now = base::boot_now();
  out.end = now + held.left() - process::killed_before_end(held.length);
  // Another attempt may run once the lease is over. So the grace lies before that, and is short:
  // what can't be renewed for a while may be renewed in time after all.
  out.warning = out.end - std::min(rules_.grace, held.length / 10);
  return out;
}

void command_attempt::renew_limit(const attempt_lease& held) {
  const auto now = limit_of(held);
  if (now.end <= limit_.end) return;
  limit_ = now;
  child_->limit(now);
}

void command_attempt::follow(const attempt_lease& held) {
  const std::stop_callback on_lost(held.lost, [this] { wake(); });
  if (rules_.timeout.count() > 0) end_ = base::boot_now() + rules_.timeout;
  while (poll_ends(held)) {
    auto until = std::min(kill_at_, why_ended_ == ended_by::itself ? end_ : time_point::max());
    if (held.left || streams_.terminal() != nullptr) {
      const auto soon = held.left ? pause_between_polls(held) : longest_poll;
      until = std::min(until, base::boot_now() + soon);
    }
    const auto streams = streams_.wanted();
    std::array<pollfd, std::tuple_size_v<command_streams_here::poll_set> + 2> waiting{
        {{child_->events(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    std::ranges::copy(streams, waiting.begin() + 2);
    const int most = until == time_point::max() ? -1 : process::poll_time(until);
    if (::poll(waiting.data(), waiting.size(), most) < 0) continue;
    if (waiting[1].revents != 0) {
      std::uint64_t taken = 0;
      static_cast<void>(::read(wake_.get(), &taken, sizeof taken));
    }
    auto ready = streams;
    std::copy(waiting.begin() + 2, waiting.end(), ready.begin());
    streams_.move(ready);
  }
  if (child_->ended()) streams_.drain();
}

bool command_attempt::poll_ends(const attempt_lease& held) {
  const bool ended = child_->ended();
  if (child_->time_is_over() && why_ended_ == ended_by::itself) {
    // The guardian saw it first, and has sent the signals.
    why_ended_ = ended_by::lost_lease;
    kill_at_ = base::boot_now() + rules_.grace;
  }
  if (ended || given_up_) return false;
  const auto now = base::boot_now();
  if (why_ended_ == ended_by::itself) {
    if (held.lost.stop_requested() && rules_.end_when_lost) {
      end_command(ended_by::lost_lease);
    } else if (now >= end_) {
      end_command(ended_by::timeout);
    }
  }
  if (now >= kill_at_) return false;
  if (const int number = child_->take_stop(); number != 0) stop_with_command(number);
  renew_limit(held);
  return true;
}

void command_attempt::end_command(ended_by why) {
  why_ended_ = why;
  kill_at_ = base::boot_now() + rules_.grace;
  // A stopped process would not take the one without the other.
  child_->signal(SIGTERM);
  child_->signal(SIGCONT);
}

void command_attempt::stop_with_command(int number) {
  auto* const shown = streams_.terminal();
  const bool for_keys = number == SIGTTIN || number == SIGTTOU;
  if (shown == nullptr || (number != SIGTSTP && !for_keys)) return;
  if (for_keys) streams_.want_keys();
  if (!for_keys || !shown->take()) {
    shown->give_back();
    // The others of the pipeline: the real terminal has sent them nothing.
    if (!for_keys) ::kill(0, SIGTSTP);
    // In an orphaned process group nothing stops, as nobody would make it go on.
    sigset_t one;
    ::sigemptyset(&one);
    ::sigaddset(&one, number);
    sigset_t former;
    ::pthread_kill(::pthread_self(), number);
    ::pthread_sigmask(SIG_UNBLOCK, &one, &former);
    ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  }
  if (streams_.wants_keys()) {
    shown->take();
    child_->to_foreground();
  } else {
    child_->signal(SIGCONT);
  }
}

attempt_result command_attempt::conclude() {
  attempt_result out;
  const auto status = child_->status();
  // Killed with all that it started, it has left no status.
  const int by_signal = !status ? SIGKILL : WIFSIGNALED(*status) ? WTERMSIG(*status) : 0;
  out.result.exit_code = by_signal != 0 ? 128 + by_signal : WEXITSTATUS(*status);
  out.terms.kind = settle_kind::abandon;
  if (why_ended_ == ended_by::timeout) {
    out.terms.why = unknown_reason::upstream_timeout;
    out.result.why = "the command did not end within its timeout, and was ended";
  } else if (why_ended_ == ended_by::lost_lease) {
    out.lost_lease = true;
    out.terms.why = unknown_reason::abandoned;
    out.result.why = "the lease was lost, and the command was ended";
  } else {
    conclude_by_code(out);
    if (by_signal != 0 && streams_.reported().empty()) {
      out.terms.kind = settle_kind::abandon;
      out.terms.why = unknown_reason::upstream_broken;
      out.result.why = "signal " + std::to_string(by_signal) + " ended the command";
    }
  }
  out.result.settled = out.terms.kind;
  return out;
}

void command_attempt::conclude_by_code(attempt_result& out) const {
  const int code = out.result.exit_code;
  auto report = std::string_view(streams_.reported());
  while (report.ends_with('\n')) report.remove_suffix(1);
  report = report.substr(report.rfind('\n') + 1);
  const auto ended = "the command ended with " + std::to_string(code);
  if (!report.empty()) {
    out.result.why = ended + " and reported \"" + std::string(report) + '"';
    if (report == "complete") {
      out.terms.kind = settle_kind::complete;
      out.result.why.clear();
    } else if (report == "fail") {
      out.terms.kind = settle_kind::fail;
    } else if (report == "release") {
      out.terms.kind = settle_kind::release;
    } else {
      out.terms.why = unknown_reason::abandoned;
    }
    return;
  }
  const bool success = rules_.success.contains(code) && code != exit_temporary;
  out.terms.kind = success                  ? settle_kind::complete
                   : code == exit_temporary ? settle_kind::release
                                            : rules_.failure;
  out.terms.why = unknown_reason::upstream_status;
  out.terms.why_status = static_cast<std::uint16_t>(code);
  if (!success) out.result.why = ended;
}

}  // namespace onceguard
