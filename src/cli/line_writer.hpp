// Writes lines to a descriptor from a thread of its own. Nobody who has something to say waits for
// who reads it: a terminal that is held, a pipe that nobody empties or whose reader is gone, a full
// disk. What finds no room is counted, and said once there is some.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace onceguard::cli {

class line_writer {
 public:
  /// Makes the line that says how many are missing. It may be called until the process ends.
  using missing_line = std::function<std::string(std::uint64_t count)>;
  /// What is queued at the end may take so long; then it is left to be lost.
  static constexpr std::chrono::milliseconds patience{1'000};

  /// `room`: bytes that may wait. The descriptor stays the caller's, who never closes it.
  line_writer(int descriptor, std::size_t room, missing_line missing);
  ~line_writer();
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;

  /// Takes a line with its end, or drops and counts it. Thread-safe, and never waits for a write.
  void write(std::string line);
  /// Waits until all is written; false: it is not, `at_most` later.
  bool flush(std::chrono::milliseconds at_most = patience);

 private:
  struct queue;
  const std::shared_ptr<queue> queue_;  // a thread that hangs in a write outlives this
};

}  // namespace onceguard::cli
