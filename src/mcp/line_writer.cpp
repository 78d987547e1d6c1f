#include "mcp/line_writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <climits>

namespace onceguard::mcp {

line_writer::line_writer(int descriptor, std::function<void()> failed)
    : descriptor_(descriptor),
      failed_(std::move(failed)),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

line_writer::~line_writer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_, &one, sizeof one));
  thread_.join();
  ::close(wake_);
}

void line_writer::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  queued_ += line;
  if (!line.ends_with('\n')) queued_ += '\n';
  backlog_ = queued_.size();
  changed_.notify_all();
}

void line_writer::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

void line_writer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopped_ || ending_ || !queued_.empty(); });
    if (queued_.empty()) {
      if (ending_) ::close(descriptor_);
      return;
    }
    const auto text = std::exchange(queued_, {});
    lock.unlock();
    const bool written = write_all(text);
    lock.lock();
    backlog_ = queued_.size();
    if (written) continue;
    lock.unlock();
    return failed_();
  }
}

bool line_writer::is_stalled() const noexcept {
  const auto since = offered_.load();
  return since != clock::time_point::max() && clock::now() - since >= longest_stall;
}

bool line_writer::write_all(std::string_view bytes) {
  auto end = clock::time_point::max();
  while (!bytes.empty()) {
    offered_ = clock::now();
    // A descriptor may block although it was ready: other processes write to it, too.
    std::array<pollfd, 2> waiting{{{descriptor_, POLLOUT, 0}, {wake_, POLLIN, 0}}};
    const bool stopped = ::poll(waiting.data(), 2, -1) > 0 && waiting[1].revents != 0;
    if (stopped && end == clock::time_point::max()) end = clock::now() + longest_rest;
    if (stopped && (clock::now() >= end || ::poll(waiting.data(), 1, patience) <= 0)) return false;
    // A pipe that poll(2) calls writable takes PIPE_BUF bytes without a wait, and more perhaps not.
    const auto written =
        ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  offered_ = clock::time_point::max();
  return true;
}

}  // namespace onceguard::mcp
