#include "command/command_run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace onceguard {
namespace {

using process::time_point;

constexpr int control_number = 3;
constexpr int exit_temporary = 75;       // EX_TEMPFAIL of sysexits.h
constexpr int exit_not_found = 127;      // as shells and env have it
constexpr int exit_not_startable = 126;  // the same
constexpr std::size_t read_size = 64u << 10;
constexpr std::size_t longest_report = 256;
/// What a command has left running may hold its output open: so long after its end, what it writes
/// is waited for.
constexpr milliseconds longest_drain{1'000};

}  // namespace

command_run::command_run(const command& command, const command_rules& rules,
                         collected_output& output)
    : command_(command), rules_(rules), output_(output), input_(command.input) {}

void command_run::signal(int number) const noexcept {
  if (child_) child_->signal(number);
}

void command_run::resize_terminal() const noexcept {
  const std::lock_guard lock(mutex_);
  if (out_is_terminal_ && stdout_.here.is_open()) {
    process::copy_terminal_size(STDOUT_FILENO, stdout_.here.get());
  }
  if (err_is_terminal_ && stderr_.here.is_open()) {
    process::copy_terminal_size(STDERR_FILENO, stderr_.here.get());
  }
}

void command_run::close(process::channel& output) {
  const std::lock_guard lock(mutex_);
  output.here.close();
}

result<process::channel> command_run::make_output(int stream) {
  const bool terminal = rules_.streams == command_streams::shared && ::isatty(stream) == 1;
  if (stream == STDOUT_FILENO) out_is_terminal_ = terminal;
  if (stream == STDERR_FILENO) err_is_terminal_ = terminal;
  return terminal ? process::make_output_terminal(stream) : process::make_output_pipe();
}

result<void> command_run::make_channels() {
  auto out = make_output(STDOUT_FILENO);
  if (!out) return out.error();
  auto err = make_output(STDERR_FILENO);
  if (!err) return err.error();
  auto control = process::make_output_pipe();
  if (!control) return control.error();
  stdout_ = std::move(*out);
  stderr_ = std::move(*err);
  control_ = std::move(*control);
  if (rules_.streams == command_streams::shared) return {};
  auto input = process::make_input_pipe();
  if (!input) return input.error();
  stdin_ = std::move(*input);
  if (input_.empty()) stdin_.here.close();
  return {};
}

attempt_result command_run::run(std::vector<std::string> environment, std::stop_token lost) {
  if (const auto made = make_channels(); !made) return not_started({EMFILE, made.error().detail});
  environment.push_back("ONCEGUARD_CONTROL_FD=" + std::to_string(control_number));
  process::child_params params;
  params.words = command_.words;
  for (const auto& [name, value] : command_.environment) environment.push_back(name + '=' + value);
  params.environment = process::environment_behind(std::move(environment));
  params.folder = command_.folder;
  params.streams = {stdin_.there.get(), stdout_.there.get(), stderr_.there.get(),
                    control_.there.get()};
  params.new_group = rules_.streams == command_streams::captured;
  if (rules_.signal_mask != nullptr) params.mask = *rules_.signal_mask;
  auto started = process::child::start(params);
  if (!started) return not_started(started.error());
  child_.emplace(std::move(*started));
  for (auto* each : {&stdin_, &stdout_, &stderr_, &control_}) each->there.close();
  if (rules_.on_start) rules_.on_start(*this);
  try {
    follow(std::move(lost));
  } catch (...) {
    if (rules_.on_end) rules_.on_end();
    throw;
  }
  if (rules_.on_end) rules_.on_end();
  if (child_->ended() && why_ended_ == ended_by::itself) {
    child_->leave();
  } else {
    child_->kill_all();
  }
  return conclude();
}

void command_run::follow(std::stop_token lost) {
  const process::descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback on_lost(lost, [&wake] {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake.get(), &one, sizeof one));
  });
  const auto end =
      rules_.timeout.count() > 0 ? base::boot_now() + rules_.timeout : time_point::max();
  while (!child_->ended()) {
    const auto now = base::boot_now();
    const bool ending = why_ended_ != ended_by::itself;
    if (!ending && lost.stop_requested() && rules_.end_when_lost) end_command(ended_by::lost_lease);
    if (!ending && now >= end) end_command(ended_by::timeout);
    if (now >= kill_at_) return;
    std::array<pollfd, 6> waiting{{{child_->events(), POLLIN, 0},
                                   {ending ? -1 : wake.get(), POLLIN, 0},
                                   {stdout_.here.get(), POLLIN, 0},
                                   {stderr_.here.get(), POLLIN, 0},
                                   {control_.here.get(), POLLIN, 0},
                                   {stdin_.here.get(), POLLOUT, 0}}};
    const auto until = std::min(kill_at_, why_ended_ == ended_by::itself ? end : time_point::max());
    const int most = until == time_point::max() ? -1 : process::poll_time(until);
    if (::poll(waiting.data(), waiting.size(), most) < 0) continue;
    if (waiting[1].revents != 0 && !rules_.end_when_lost) {
      std::uint64_t taken = 0;
      static_cast<void>(::read(wake.get(), &taken, sizeof taken));
    }
    if (waiting[2].revents != 0 && !read_output(stdout_.here, output_stream::out)) close(stdout_);
    if (waiting[3].revents != 0 && !read_output(stderr_.here, output_stream::err)) close(stderr_);
    if (waiting[4].revents != 0 && !read_control()) control_.here.close();
    if (waiting[5].revents != 0) feed_input();
  }
  drain();
}

void command_run::end_command(ended_by why) {
  why_ended_ = why;
  kill_at_ = base::boot_now() + rules_.grace;
  child_->signal(SIGTERM);
  child_->signal(SIGCONT);  // a stopped process would not take the other
}

bool command_run::read_output(process::descriptor& source, output_stream stream) {
  std::array<char, read_size> bytes;
  const auto got = ::read(source.get(), bytes.data(), bytes.size());
  // A terminal whose other end is closed is an error of input.
  if (got <= 0) return got < 0 && (errno == EINTR || errno == EAGAIN);
  const std::string_view piece(bytes.data(), static_cast<std::size_t>(got));
  output_.add(stream, piece);
  if (rules_.on_output) rules_.on_output(stream, piece);
  return true;
}

bool command_run::read_control() {
  std::array<char, longest_report> bytes;
  const auto got = ::read(control_.here.get(), bytes.data(), bytes.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  reported_.append(bytes.data(), static_cast<std::size_t>(got));
  // The last line counts.
  if (reported_.size() > longest_report) reported_.erase(0, reported_.size() - longest_report);
  return true;
}

void command_run::feed_input() {
  const auto written = process::write_quietly(stdin_.here.get(), input_);
  if (written > 0) input_.remove_prefix(static_cast<std::size_t>(written));
  const bool broken = written < 0 && errno != EAGAIN && errno != EINTR;
  if (broken || input_.empty()) stdin_.here.close();
}

void command_run::drain() {
  const auto end = base::boot_now() + longest_drain;
  // Of the control descriptor only what is there: a daemon holds it open for ever.
  pollfd control{control_.here.get(), POLLIN, 0};
  while (::poll(&control, 1, 0) > 0 && (control.revents & POLLIN) != 0 && read_control()) {
  }
  while (stdout_.here.is_open() || stderr_.here.is_open()) {
    const int left = process::poll_time(end);
    std::array<pollfd, 2> waiting{
        {{stdout_.here.get(), POLLIN, 0}, {stderr_.here.get(), POLLIN, 0}}};
    const int ready = ::poll(waiting.data(), waiting.size(), left);
    if (ready == 0 || (ready < 0 && errno != EINTR)) return;
    if (ready < 0) continue;
    if (waiting[0].revents != 0 && !read_output(stdout_.here, output_stream::out)) close(stdout_);
    if (waiting[1].revents != 0 && !read_output(stderr_.here, output_stream::err)) close(stderr_);
    if (left == 0) return;  // what is left running writes without an end
  }
}

attempt_result command_run::not_started(const process::start_failure& why) const {
  attempt_result out;
  out.result.exit_code = why.number == ENOENT ? exit_not_found : exit_not_startable;
  out.result.why = why.detail;
  out.terms.kind = out.result.settled = settle_kind::release;
  return out;
}

attempt_result command_run::conclude() {
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
    out.terms.why = unknown_reason::abandoned;
    out.result.why = "the lease was lost, and the command was ended";
  } else {
    conclude_by_code(out);
    if (by_signal != 0 && reported_.empty()) {
      out.terms.kind = settle_kind::abandon;
      out.terms.why = unknown_reason::upstream_broken;
      out.result.why = "signal " + std::to_string(by_signal) + " ended the command";
    }
  }
  out.result.settled = out.terms.kind;
  return out;
}

void command_run::conclude_by_code(attempt_result& out) const {
  const int code = out.result.exit_code;
  auto report = std::string_view(reported_);
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
