// Remembers the latest marks, each with a word, in memory of a fixed size and without locks.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace onceguard::base {

/// Marks are hashes of 64 bits, which must be spread evenly: two things of one mark are one. Each
/// has one place, which its next mark takes over: what was stored may be forgotten at any time. For
/// values of more than a word, and where a hot mark must not displace another, see recent_table.
/// Thread-safe.
class recent_marks {
 public:
  explicit recent_marks(std::size_t entries) : slots_(entries) {}

  /// Stores the word, and returns the mark's former one; none: the mark is new. If all words are
  /// the same, one of the threads that bring a new mark at once finds it new. If not, such threads
  /// may leave a place that fits no mark.
  std::optional<std::uint64_t> exchange(std::uint64_t mark, std::uint64_t word) noexcept {
    auto& found = slots_[mark % slots_.size()];
    const auto former = found.word.exchange(word, std::memory_order_relaxed);
    const auto check = found.check.exchange(mark ^ word, std::memory_order_relaxed);
    if ((check ^ former) != mark) return std::nullopt;
    return former;
  }

  /// The next exchange of the mark finds it new.
  void forget(std::uint64_t mark) noexcept {
    auto& found = slots_[mark % slots_.size()];
    auto check = mark ^ found.word.load(std::memory_order_relaxed);
    // Any other value would do that does not fit the mark.
    found.check.compare_exchange_strong(check, ~check, std::memory_order_relaxed);
  }

 private:
  /// `check` is the mark combined with the word, so that a place of which another thread has
  /// written one half fits no mark.
  struct slot {
    std::atomic<std::uint64_t> check{0};
    std::atomic<std::uint64_t> word{0};
  };

  std::vector<slot> slots_;
};

}  // namespace onceguard::base
