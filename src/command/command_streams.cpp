#include "command/command_streams.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "process/terminal.hpp"

namespace onceguard {
namespace {

constexpr std::size_t read_size = 64u << 10;
constexpr std::size_t longest_report = 256;
/// What a command has left running may hold its output open: so long after its end, what it writes
/// is waited for.
constexpr milliseconds longest_drain{1'000};

/// So often the end of the keys is written, as each read takes one.
constexpr milliseconds pause_between_ends{500};

// Of the poll set.
enum slot : std::size_t { of_out, of_err, of_report, of_input, of_terminal, of_keys };

/// What is written to both comes in one order there. A device that keeps nothing has none.
bool are_one_file(int one, int other) noexcept {
  struct stat first {};
  struct stat second {};
  if (::fstat(one, &first) != 0 || ::fstat(other, &second) != 0) return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino &&
         (!S_ISCHR(first.st_mode) || ::isatty(one) == 1);
}

}  // namespace

command_streams_here::command_streams_here(const command& command, const command_rules& rules,
                                           collected_output& kept, output_queue* queue)
    : rules_(rules), kept_(kept), queue_(queue), input_(command.input) {}

result<process::channel> command_streams_here::make_output(int stream) {
  const bool alone = rules_.streams == command_streams::shared && ::isatty(stream) == 1;
  return alone ? process::make_output_terminal(stream) : process::make_output_pipe();
}

result<void> command_streams_here::open() {
  const bool shared = rules_.streams == command_streams::shared;
  if (shared) {
    auto found = process::terminal::open();
    if (!found) return found.error();
    if (*found) terminal_.emplace(std::move(**found));
  }
  if (terminal_) {
    terminal_open_ = true;
    terminal_in_ = process::terminal::is(STDIN_FILENO);
    terminal_out_ = process::terminal::is(STDOUT_FILENO);
    terminal_err_ = process::terminal::is(STDERR_FILENO);
    // In a pipeline, the keys may be another program's.
    foreground_ = terminal_in_ && terminal_out_ && terminal_->in_foreground();
  }
  one_output_ = shared && are_one_file(STDOUT_FILENO, STDERR_FILENO);
  if (!terminal_out_) {
    auto out = make_output(STDOUT_FILENO);
    if (!out) return out.error();
    stdout_ = std::move(*out);
  }
  if (!terminal_err_ && !one_output_) {
    auto err = make_output(STDERR_FILENO);
    if (!err) return err.error();
    stderr_ = std::move(*err);
  }
  auto report = process::make_output_pipe();
  if (!report) return report.error();
  report_ = std::move(*report);
  report_number_ = process::free_number();
  if (shared) return {};
  auto input = process::make_input_pipe();
  if (!input) return input.error();
  stdin_ = std::move(*input);
  if (input_.empty()) stdin_.here.close();
  return {};
}

void command_streams_here::give(process::child_params& params) {
  const int shown = terminal_ ? terminal_->there() : -1;
  params.streams[0] = terminal_in_ ? shown : stdin_.there.get();
  params.streams[1] = terminal_out_ ? shown : stdout_.there.get();
  params.streams[2] = terminal_err_ ? shown : one_output_ ? params.streams[1] : stderr_.there.get();
  params.report_end = report_.there.get();
  params.report_number = report_number_;
  params.environment.push_back("ONCEGUARD_CONTROL_FD=" + std::to_string(report_number_));
  if (terminal_) {
    params.shown_on = &*terminal_;
    params.foreground = foreground_;
    params.held.push_back(terminal_->here());
  }
  for (const auto* each : {&stdout_, &stderr_}) {
    if (each->here.is_open()) params.held.push_back(each->here.get());
  }
}

void command_streams_here::started() {
  for (auto* each : {&stdin_, &stdout_, &stderr_, &report_}) each->there.close();
  if (!terminal_) return;
  terminal_->close_there();
  wants_keys_ = foreground_;
}

command_streams_here::poll_set command_streams_here::wanted() {
  // Whoever shows the output is behind: the command waits for room as it would for any reader.
  const bool full = queue_ != nullptr && queue_->is_full();
  poll_set out{{{full ? -1 : stdout_.here.get(), POLLIN, 0},
                {full ? -1 : stderr_.here.get(), POLLIN, 0},
                {report_.here.get(), POLLIN, 0},
                {stdin_.here.get(), POLLOUT, 0},
                {-1, 0, 0},
                {-1, POLLIN, 0}}};
  if (!terminal_) return out;
  if (wants_keys_) terminal_->take();
  if (terminal_->gone() && base::boot_now() >= next_end_) {
    // The first one comes behind the signal of the hang-up, which ends most commands.
    if (next_end_ != process::time_point()) terminal_->end_keys();
    next_end_ = base::boot_now() + pause_between_ends;
  }
  const bool has_keys = terminal_->has_keys();
  const auto events = (full || !terminal_open_ ? 0 : POLLIN) | (has_keys ? POLLOUT : 0);
  out[of_terminal].events = static_cast<short>(events);
  if (events != 0) out[of_terminal].fd = terminal_->here();
  if (terminal_->taken() && !has_keys) out[of_keys].fd = terminal_->callers();
  return out;
}

void command_streams_here::move(const poll_set& ready) {
  const auto close = [this](process::channel& output) {
    const std::lock_guard lock(mutex_);
    output.here.close();
  };
  if (ready[of_out].revents != 0 && !read_output(stdout_.here.get(), output_stream::out)) {
    close(stdout_);
  }
  if (ready[of_err].revents != 0 && !read_output(stderr_.here.get(), output_stream::err)) {
    close(stderr_);
  }
  if (ready[of_report].revents != 0 && !read_report()) report_.here.close();
  if (ready[of_input].revents != 0) feed_input();
  if ((ready[of_terminal].revents & POLLOUT) != 0) terminal_->pass_keys();
  if ((ready[of_terminal].revents & ~POLLOUT) != 0) {
    const auto stream = terminal_out_   ? std::optional(output_stream::out)
                        : terminal_err_ ? std::optional(output_stream::err)
                                        : std::nullopt;
    terminal_open_ = read_output(terminal_->here(), stream);
  }
  if (ready[of_keys].revents != 0) terminal_->read_keys();
}

bool command_streams_here::read_output(int source, std::optional<output_stream> stream) {
  std::string bytes(read_size, '\0');
  const auto got = ::read(source, bytes.data(), bytes.size());
  // A terminal whose other end is closed is an error of input.
  if (got <= 0) return got < 0 && (errno == EINTR || errno == EAGAIN);
  bytes.resize(static_cast<std::size_t>(got));
  if (!stream) {
    // A question on the terminal itself, of a command whose output goes elsewhere.
    static_cast<void>(::write(terminal_->callers(), bytes.data(), bytes.size()));
    return true;
  }
  if (terminal_ && source == terminal_->here()) terminal_->as_written(bytes);
  kept_.add(*stream, bytes);
  if (queue_ != nullptr) queue_->add(*stream, bytes);
  return true;
}

bool command_streams_here::read_report() {
  std::array<char, longest_report> bytes;
  const auto got = ::read(report_.here.get(), bytes.data(), bytes.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  reported_.append(bytes.data(), static_cast<std::size_t>(got));
  // The last line counts.
  if (reported_.size() > longest_report) reported_.erase(0, reported_.size() - longest_report);
  return true;
}

void command_streams_here::feed_input() {
  const auto written = process::write_quietly(stdin_.here.get(), input_);
  if (written > 0) input_.remove_prefix(static_cast<std::size_t>(written));
  const bool broken = written < 0 && errno != EAGAIN && errno != EINTR;
  if (broken || input_.empty()) stdin_.here.close();
}

void command_streams_here::drain() {
  const auto end = base::boot_now() + longest_drain;
  // Of the control descriptor only what is there: a daemon holds it open for ever.
  pollfd report{report_.here.get(), POLLIN, 0};
  while (::poll(&report, 1, 0) > 0 && (report.revents & POLLIN) != 0 && read_report()) {
  }
  report_.here.close();
  stdin_.here.close();
  while (stdout_.here.is_open() || stderr_.here.is_open() || terminal_open_) {
    const int left = process::poll_time(end);
    poll_set waiting{};
    for (auto& one : waiting) one.fd = -1;
    waiting[of_out] = {stdout_.here.get(), POLLIN, 0};
    waiting[of_err] = {stderr_.here.get(), POLLIN, 0};
    if (terminal_open_) waiting[of_terminal] = {terminal_->here(), POLLIN, 0};
    const int ready = ::poll(waiting.data(), waiting.size(), left);
    if (ready == 0 || (ready < 0 && errno != EINTR)) return;
    if (ready > 0) move(waiting);
    if (left == 0) return;  // what is left running writes without an end
  }
}

bool command_streams_here::resize() const noexcept {
  const std::lock_guard lock(mutex_);
  if (stdout_.here.is_open() && ::isatty(STDOUT_FILENO) == 1) {
    process::copy_terminal_size(STDOUT_FILENO, stdout_.here.get());
  }
  if (stderr_.here.is_open() && ::isatty(STDERR_FILENO) == 1) {
    process::copy_terminal_size(STDERR_FILENO, stderr_.here.get());
  }
  if (!terminal_) return false;
  terminal_->resize();
  return wants_keys_;
}

void command_streams_here::end() {
  if (terminal_) terminal_->give_back();
}

}  // namespace onceguard
