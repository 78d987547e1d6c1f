// Writes lines to a descriptor on a separate thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace onceguard::cli::log {

/// Callers never wait for the reader: a stopped terminal, a full pipe, a pipe without a reader, a
/// full disk. Lines that don't fit into the queue are counted, and the count is written once there
/// is space. Lines that come close after each other go out in one write.
class log_writer {
 public:
  /// Makes the line that reports how many lines are missing. May be called until the process ends.
  using missing_line = std::function<std::string(std::uint64_t count)>;
  /// How long the destructor waits for the queue; lines that are left then are lost.
  static constexpr std::chrono::milliseconds patience{1'000};

  /// `room`: the size of the queue in bytes. The caller must never close the descriptor; the writer
  /// closes it when another one follows, unless it is a standard stream.
  log_writer(int descriptor, std::size_t room, missing_line missing);
  ~log_writer();
  log_writer(const log_writer&) = delete;
  log_writer& operator=(const log_writer&) = delete;

  /// Queues a line, which includes its line end, or drops and counts the line. Thread-safe. Never
  /// waits for a write.
  void write(std::string_view line) { static_cast<void>(enqueue(line)); }
  /// Queues a line, and waits until it is written. False: it was dropped, or not written within
  /// `patience`, and may still be written later. While a reader that was waited for before has read
  /// nothing since, it does not wait. Thread-safe.
  [[nodiscard]] bool write_surely(std::string_view line);
  /// Later lines go to this descriptor, which the writer closes when another one follows. Lines
  /// that are queued may still go to the former one. Thread-safe.
  void redirect(int descriptor);
  /// Waits until all lines are written. False: not all lines were written within `at_most`.
  bool flush(std::chrono::milliseconds at_most = patience);
  /// How many lines were dropped since the start. Thread-safe.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  struct queue;
  /// Up to where the queue must be written for this line to be; 0: there was no room.
  std::uint64_t enqueue(std::string_view line);

  const std::shared_ptr<queue> queue_;  // shared: a thread that hangs in a write outlives this
                                        // object
};

}  // namespace onceguard::cli::log
