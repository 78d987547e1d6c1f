// Writes lines to a descriptor on a thread of its own: one slow peer holds up nobody else.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace onceguard::mcp {

/// Writes what it gets, in order.
class line_writer {
 public:
  /// `failed` is called on the writer's thread, once: there is no reader any more.
  line_writer(int descriptor, std::function<void()> failed);
  line_writer(const line_writer&) = delete;
  line_writer& operator=(const line_writer&) = delete;
  /// Writes the rest, for as long as `patience` at most.
  ~line_writer();

  /// Adds the end of the line where it is missing. From any thread.
  void write(std::string_view line);
  /// Closes the descriptor behind what was written so far. From any thread.
  void end();
  /// Bytes that are not written yet.
  [[nodiscard]] std::size_t backlog() const noexcept { return backlog_; }
  /// Too many bytes wait.
  [[nodiscard]] bool is_behind() const noexcept { return backlog_ >= most_waiting; }
  /// The reader has taken nothing for some seconds, although something is there. From any thread.
  [[nodiscard]] bool is_stalled() const noexcept;

 private:
  using clock = std::chrono::steady_clock;
  /// Bytes of lines that may wait, beside one line of any length; as many as at the reader.
  static constexpr std::size_t most_waiting = 4u << 20;
  static constexpr int patience = 2'000;  // milliseconds
  static constexpr std::chrono::seconds longest_rest{10};
  static constexpr std::chrono::seconds longest_stall{5};

  void run();
  /// False: no reader, or no time any more.
  bool write_all(std::string_view bytes);

  const int descriptor_;
  const std::function<void()> failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string queued_;
  std::atomic<std::size_t> backlog_{0};
  std::atomic<clock::time_point> offered_{clock::time_point::max()};  ///< since then, in vain
  bool stopped_ = false;
  bool ending_ = false;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace onceguard::mcp
