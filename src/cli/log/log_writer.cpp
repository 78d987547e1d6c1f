#include "cli/log/log_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <poll.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace onceguard::cli::log {

namespace {

/// After a write, so that the lines of many requests share the next one and wake nobody.
constexpr std::chrono::milliseconds gathering{5};
/// Of the memory for lines: what a busy gateway needs for the lines of one write.
constexpr std::size_t kept_capacity = 256 * 1'024;

}  // namespace

struct log_writer::queue {
  queue(int descriptor, std::size_t most, missing_line line)
      : room(most), missing(std::move(line)), output_(descriptor) {}

  void run();
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds at_most);
  [[nodiscard]] bool urgent() const noexcept { return closing || flushing > 0 || next_output >= 0; }

  const std::size_t room;
  const missing_line missing;
  std::mutex mutex;
  std::condition_variable filled;
  std::condition_variable emptied;
  std::string lines;
  std::size_t bytes = 0;       // of `lines`, and of what is being written
  std::uint64_t queued = 0;    // bytes since the start
  std::uint64_t done = 0;      // of them, what was written or lost
  std::uint64_t failures = 0;  // batches of which something was lost
  std::uint64_t unreported = 0;
  std::atomic<std::uint64_t> dropped{0};
  int next_output = -1;
  unsigned flushing = 0;
  bool asleep = false;  // the thread waits for lines
  bool writing = false;
  bool closing = false;
  bool given_up = false;  // a wait ended without success, and nothing has been written since

  void drop(std::uint64_t count) noexcept {
    unreported += count;
    dropped.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  std::uint64_t put(std::string_view batch);
  void change_output();
  void report_missing(std::unique_lock<std::mutex>& lock);

  int output_;
  bool torn_ = false;  // the last write ended in the middle of a line
};

/// Returns how many of the lines were not written whole.
std::uint64_t log_writer::queue::put(std::string_view batch) {
  std::string apart;
  if (torn_) apart.append("\n").append(batch), batch = apart;
  const auto* const begin = batch.data();
  while (!batch.empty()) {
    const auto written = ::write(output_, batch.data(), batch.size());
    if (written > 0) {
      batch.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      // Another process that shares the descriptor has made it non-blocking.
      pollfd until{output_, POLLOUT, 0};
      ::poll(&until, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      const auto left = static_cast<std::uint64_t>(std::count(batch.begin(), batch.end(), '\n'));
      // The end of the torn line is none of these lines.
      if (batch.data() == begin) return left - (torn_ ? 1 : 0);
      torn_ = batch.data()[-1] != '\n';
      return left;
    }
  }
  torn_ = false;
  return 0;
}

void log_writer::queue::change_output() {
  if (next_output < 0) return;
  // Standard error stays: the next file would get its number.
  if (output_ > STDERR_FILENO) ::close(output_);
  output_ = std::exchange(next_output, -1);
  torn_ = false;
}

void log_writer::queue::report_missing(std::unique_lock<std::mutex>& lock) {
  const auto count = unreported;
  lock.unlock();
  const bool reported = put(missing(count)) == 0;
  lock.lock();
  if (reported) unreported -= count;
}

void log_writer::queue::run() {
  std::string batch;
  std::unique_lock lock(mutex);
  for (;;) {
    asleep = true;
    filled.wait(lock, [this] { return closing || !lines.empty() || next_output >= 0; });
    asleep = false;
    change_output();
    if (lines.empty()) {
      if (closing) return;
      continue;
    }
    batch.clear();
    std::swap(batch, lines);
    if (lines.capacity() > kept_capacity) std::string().swap(lines);
    writing = true;
    lock.unlock();
    const auto lost = put(batch);
    lock.lock();
    bytes -= batch.size();
    done += batch.size();
    given_up = false;
    if (lost > 0) {
      drop(lost);
      ++failures;
    } else if (unreported > 0 && bytes <= room / 2) {
      report_missing(lock);
    }
    writing = false;
    if (lines.empty() || flushing > 0) emptied.notify_all();
    filled.wait_for(lock, gathering, [this] { return urgent(); });
  }
}

bool log_writer::queue::wait(std::unique_lock<std::mutex>& lock,
                             std::chrono::milliseconds at_most) {
  ++flushing;
  filled.notify_one();
  const bool empty = emptied.wait_for(lock, at_most, [this] { return lines.empty() && !writing; });
  --flushing;
  return empty;
}

log_writer::log_writer(int descriptor, std::size_t room, missing_line missing)
    : queue_(std::make_shared<queue>(descriptor, room, std::move(missing))) {
  std::thread([q = queue_] { q->run(); }).detach();
}

log_writer::~log_writer() {
  std::unique_lock lock(queue_->mutex);
  if (!queue_->given_up) queue_->given_up = !queue_->wait(lock, patience);
  queue_->closing = true;
  lock.unlock();
  queue_->filled.notify_one();
}

std::uint64_t log_writer::enqueue(std::string_view line) {
  bool wakes = false;
  std::uint64_t end = 0;
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->bytes + line.size() > queue_->room) {
      queue_->drop(1);
      return 0;
    }
    queue_->bytes += line.size();
    queue_->lines += line;
    end = queue_->queued += line.size();
    wakes = std::exchange(queue_->asleep, false);
  }
  if (wakes) queue_->filled.notify_one();
  return end;
}

bool log_writer::write_surely(std::string_view line) {
  std::uint64_t failures = 0;
  {
    const std::lock_guard lock(queue_->mutex);
    failures = queue_->failures;
  }
  const auto end = enqueue(line);
  if (end == 0) return false;
  std::unique_lock lock(queue_->mutex);
  if (queue_->given_up) return false;
  ++queue_->flushing;
  queue_->filled.notify_one();
  const bool written =
      queue_->emptied.wait_for(lock, patience, [&] { return queue_->done >= end; });
  --queue_->flushing;
  queue_->given_up = !written;
  // Of a batch that was not written whole, nobody knows which lines are missing.
  return written && queue_->failures == failures;
}

void log_writer::redirect(int descriptor) {
  {
    const std::lock_guard lock(queue_->mutex);
    const auto replaced = std::exchange(queue_->next_output, descriptor);
    if (replaced >= 0) ::close(replaced);
  }
  queue_->filled.notify_one();
}

bool log_writer::flush(std::chrono::milliseconds at_most) {
  std::unique_lock lock(queue_->mutex);
  return queue_->wait(lock, at_most);
}

std::uint64_t log_writer::dropped() const noexcept { return queue_->dropped; }

}  // namespace onceguard::cli::log
