// Reads the lines of a descriptor on a thread of its own: one slow peer holds up nobody else.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace onceguard::mcp {

/// Reads until the end of the descriptor. Waits while too many bytes are not consumed yet, so that
/// a peer that writes faster than another one reads fills no memory.
class line_reader {
 public:
  /// Called on the reader's thread, with each line and its end. A line longer than `longest_line`
  /// is the end of the input, too.
  using line_taker = std::function<void(std::string line)>;
  static constexpr std::size_t longest_line = 64u << 20;
  /// Bytes of lines that may wait, beside one line of any length.
  static constexpr std::size_t most_waiting = 4u << 20;

  /// `ended` is called last, with what was wrong; empty: nothing. `must_wait` says whether the
  /// other peer is too far behind; it is called on the reader's thread.
  line_reader(int descriptor, std::function<bool()> must_wait, line_taker take,
              std::function<void(std::string)> ended);
  line_reader(const line_reader&) = delete;
  line_reader& operator=(const line_reader&) = delete;
  /// Ends the reading, and waits for the thread. No input: the thread may wait for it for ever.
  ~line_reader();

  /// So many bytes of lines were taken care of. From any thread.
  void consumed(std::size_t bytes);

 private:
  void read();
  /// False: a stop was requested.
  bool hand_over(std::string line);

  const int descriptor_;
  const std::function<bool()> must_wait_;
  const line_taker take_;
  const std::function<void(std::string)> ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t waiting_ = 0;  ///< bytes of lines that were handed over
  bool stopped_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace onceguard::mcp
