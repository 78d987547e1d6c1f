// What a command wrote and nobody has been shown yet. Whoever shows it may be slow, or sleep: what
// waits is in memory, and beyond a limit on disk.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/command.hpp>

#include "base/descriptor.hpp"

namespace onceguard {

/// Thread-safe. One thread adds, another one takes.
class output_queue {
 public:
  /// `folder`: where the file is made, which has no name; empty: where temporary files are.
  output_queue(std::string folder, std::uint64_t most_on_disk);

  /// Never waits for the other thread. Output that comes though the queue is full is kept in
  /// memory.
  void add(output_stream stream, std::string_view bytes);
  /// Whoever adds should wait.
  [[nodiscard]] bool is_full() const;
  /// Called on the taking thread when the queue is full no more.
  void on_room(std::function<void()> call);
  /// Nothing more is added.
  void close();

  /// The next piece; blocks. Nullopt: there are no more.
  [[nodiscard]] std::optional<output_piece> take();

 private:
  [[nodiscard]] bool to_disk(output_stream stream, std::string_view bytes);
  void from_disk();

  struct on_disk {
    output_stream stream;
    std::size_t size;
  };

  const std::string folder_;
  const std::uint64_t most_on_disk_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> room_;
  std::deque<output_piece> in_memory_;  ///< the next ones
  std::deque<on_disk> in_file_;         ///< those behind them
  std::deque<output_piece> behind_;     ///< and those for which the disk has no room
  std::size_t memory_used_ = 0;
  std::uint64_t read_at_ = 0;
  std::uint64_t written_to_ = 0;
  bool overflowing_ = false;
  bool no_disk_ = false;
  bool closed_ = false;
  base::descriptor file_;
};

}  // namespace onceguard
