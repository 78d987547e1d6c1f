// How the buffer memory (`max_buffered`) is divided between bodies and answers.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>

namespace onceguard::gateway {

/// Memory that slow clients can fill is refused first: an unfinished request is refused if half of
/// `max_buffered` is in use, a replay of a large answer if three quarters are in use. So the last
/// quarter is for work. If `max_buffered` is small compared with the longest body or answer, less
/// is reserved for work, because one of them must fit. The configuration ensures that the longest
/// body and the longest answer fit together.
[[nodiscard]] constexpr std::size_t left_by_uploads(std::size_t max_buffered,
                                                    std::size_t max_request_body) noexcept {
  return std::min(max_buffered / 2, max_buffered - std::min(max_buffered, max_request_body));
}
[[nodiscard]] constexpr std::size_t left_by_replays(std::size_t max_buffered,
                                                    std::size_t max_answer_body) noexcept {
  return std::min(max_buffered / 4, max_buffered - std::min(max_buffered, max_answer_body));
}

/// Bodies of up to this size are copied into a buffer that the connection has anyway, and do not
/// count.
inline constexpr std::size_t small_body = 16u << 10;

/// An estimate of the length of one rule's answers. Each request reserves that much memory before
/// it runs, as reserving all of `max_answer_body` would allow only a few requests at a time.
/// Thread-safe; an update that is lost to a concurrent update does no harm.
class answer_sizes {
 public:
  /// So many requests may run at most in the room of one longest answer. If all of them get it at
  /// once, after shorter answers, they get room for it one after the other.
  static constexpr std::size_t most_at_once = 16;

  answer_sizes() = default;
  answer_sizes(const answer_sizes& other) noexcept : longest_(other.longest_.load(relaxed)) {}
  answer_sizes& operator=(const answer_sizes& other) noexcept {
    longest_.store(other.longest_.load(relaxed), relaxed);
    return *this;
  }
  ~answer_sizes() = default;

  /// A longer answer counts at once; shorter answers reduce the estimate slowly.
  void note(std::size_t bytes) noexcept {
    const auto before = longest_.load(relaxed);
    const auto now = bytes >= before ? bytes : before - (before - bytes) / 64;
    if (now != before) longest_.store(now, relaxed);
  }
  /// For a replay, which only raises the estimate: the answer of one run may be requested many
  /// times.
  void note_longer(std::size_t bytes) noexcept {
    if (bytes > longest_.load(relaxed)) longest_.store(bytes, relaxed);
  }
  [[nodiscard]] std::size_t usual(std::size_t answer_max) const noexcept {
    return std::clamp(longest_.load(relaxed), answer_max / most_at_once, answer_max);
  }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<std::size_t> longest_{0};
};

}  // namespace onceguard::gateway
