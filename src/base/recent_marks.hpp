// Remembers the latest marks, each with a word, in memory of a fixed size and without locks.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <sys/mman.h>

namespace onceguard::base {

/// Marks are hashes of 64 bits, which must be spread evenly: two things of one mark are one. Each
/// has one place, which its next mark takes over: what was stored may be forgotten at any time. For
/// values of more than a word, and where a hot mark must not displace another, see recent_table.
/// Thread-safe.
class recent_marks {
 public:
  explicit recent_marks(std::size_t entries) : size_(entries), slots_(zeros(entries), {entries}) {}

  /// Stores the word, and returns the mark's former one; none: the mark is new. If all words are
  /// the same, one of the threads that bring a new mark at once finds it new. If not, such threads
  /// may leave a place that fits no mark.
  std::optional<std::uint64_t> exchange(std::uint64_t mark, std::uint64_t word) noexcept {
    auto& found = slots_[mark % size_];
    const auto former = std::atomic_ref(found.word).exchange(word, std::memory_order_relaxed);
    const auto check =
        std::atomic_ref(found.check).exchange(mark ^ word, std::memory_order_relaxed);
    if ((check ^ former) != mark) return std::nullopt;
    return former;
  }

  /// The next exchange of the mark finds it new.
  void forget(std::uint64_t mark) noexcept {
    auto& found = slots_[mark % size_];
    auto check = mark ^ std::atomic_ref(found.word).load(std::memory_order_relaxed);
    // Any other value would do that does not fit the mark.
    std::atomic_ref(found.check).compare_exchange_strong(check, ~check, std::memory_order_relaxed);
  }

 private:
  /// `check` is the mark combined with the word, so that a place of which another thread has
  /// written one half fits no mark.
  struct slot {
    std::uint64_t check;
    std::uint64_t word;
  };
  struct unmap {
    std::size_t entries;
    void operator()(slot* slots) const noexcept { ::munmap(slots, entries * sizeof(slot)); }
  };

  /// From the system, as an allocator would write them: a process that ends soon, as a command
  /// does, never touches most of the pages.
  static slot* zeros(std::size_t entries) {
    void* const made = ::mmap(nullptr, entries * sizeof(slot), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) throw std::bad_alloc();
    return static_cast<slot*>(made);
  }

  std::size_t size_;
  std::unique_ptr<slot[], unmap> slots_;
};

}  // namespace onceguard::base
