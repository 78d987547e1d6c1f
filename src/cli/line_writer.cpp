#include "cli/line_writer.hpp"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>

namespace onceguard::cli {

struct line_writer::queue {
  queue(int descriptor, std::size_t most, missing_line line)
      : output(descriptor), room(most), missing(std::move(line)) {}

  void run();
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds at_most);

  const int output;
  const std::size_t room;
  const missing_line missing;
  std::mutex mutex;
  std::condition_variable filled;
  std::condition_variable emptied;
  std::deque<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  bool writing = false;
  bool closing = false;
  bool given_up = false;  // a wait ended without success, and nothing has been written since

 private:
  bool put(std::string_view line);
  void say_what_is_missing(std::unique_lock<std::mutex>& lock);

  bool torn_ = false;  // the last write ended in the middle of a line
};

bool line_writer::queue::put(std::string_view line) {
  std::string apart;
  if (torn_) apart.append("\n").append(line), line = apart;
  const auto whole = line.size();
  while (!line.empty()) {
    const auto done = ::write(output, line.data(), line.size());
    if (done > 0) {
      line.remove_prefix(static_cast<std::size_t>(done));
    } else if (done < 0 && errno == EAGAIN) {
      // Another process that shares the descriptor has made it non-blocking.
      pollfd until{output, POLLOUT, 0};
      ::poll(&until, 1, -1);
    } else if (done == 0 || errno != EINTR) {
      torn_ = torn_ || line.size() < whole;
      return false;
    }
  }
  torn_ = false;
  return true;
}

void line_writer::queue::say_what_is_missing(std::unique_lock<std::mutex>& lock) {
  const auto count = dropped;
  lock.unlock();
  const bool reported = put(missing(count));
  lock.lock();
  if (reported) dropped -= count;
}

void line_writer::queue::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    filled.wait(lock, [this] { return closing || !lines.empty(); });
    if (lines.empty()) return;
    const auto line = std::move(lines.front());
    lines.pop_front();
    writing = true;
    lock.unlock();
    const bool written = put(line);
    lock.lock();
    bytes -= line.size();
    given_up = false;
    if (!written) {
      ++dropped;
    } else if (dropped > 0 && bytes <= room / 2) {
      say_what_is_missing(lock);
    }
    writing = false;
    if (lines.empty()) emptied.notify_all();
  }
}

bool line_writer::queue::wait(std::unique_lock<std::mutex>& lock,
                              std::chrono::milliseconds at_most) {
  given_up = !emptied.wait_for(lock, at_most, [this] { return lines.empty() && !writing; });
  return !given_up;
}

line_writer::line_writer(int descriptor, std::size_t room, missing_line missing)
    : queue_(std::make_shared<queue>(descriptor, room, std::move(missing))) {
  std::thread([q = queue_] { q->run(); }).detach();
}

line_writer::~line_writer() {
  std::unique_lock lock(queue_->mutex);
  if (!queue_->given_up) queue_->wait(lock, patience);
  queue_->closing = true;
  lock.unlock();
  queue_->filled.notify_one();
}

void line_writer::write(std::string line) {
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->bytes + line.size() > queue_->room) {
      ++queue_->dropped;
      return;
    }
    queue_->bytes += line.size();
    queue_->lines.push_back(std::move(line));
  }
  queue_->filled.notify_one();
}

bool line_writer::flush(std::chrono::milliseconds at_most) {
  std::unique_lock lock(queue_->mutex);
  return queue_->emptied.wait_for(lock, at_most,
                                  [this] { return queue_->lines.empty() && !queue_->writing; });
}

}  // namespace onceguard::cli
