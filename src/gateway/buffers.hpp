// How the memory for bodies and answers is shared out.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>

namespace onceguard::gateway {

/// What anybody can fill by being slow is refused first: a request that is still to come where half
/// of `max_buffered` is in use, a repeat of a large answer where three quarters are. So the last
/// quarter is for work. A buffer that is small beside its longest body or answer leaves less, as
/// one of them must fit; it holds the two together.
[[nodiscard]] constexpr std::size_t left_by_uploads(std::size_t max_buffered,
                                                    std::size_t max_request_body) noexcept {
  return std::min(max_buffered / 2, max_buffered - std::min(max_buffered, max_request_body));
}
[[nodiscard]] constexpr std::size_t left_by_replays(std::size_t max_buffered,
                                                    std::size_t max_answer_body) noexcept {
  return std::min(max_buffered / 4, max_buffered - std::min(max_buffered, max_answer_body));
}

/// Up to here a body is copied into what a connection has anyway, and does not count.
inline constexpr std::size_t small_body = 16u << 10;

/// How long the answers of one rule are. Each request is given that much before it runs: the whole
/// of `max_answer_body` for each would allow but a few at once. Thread-safe; a note that gets lost
/// beside another one does no harm.
class answer_sizes {
 public:
  /// At most so many times the budget is in use where all that run get the longest answer at once,
  /// after shorter ones.
  static constexpr std::size_t most_at_once = 16;

  answer_sizes() = default;
  answer_sizes(const answer_sizes& other) noexcept : longest_(other.longest_.load(relaxed)) {}
  answer_sizes& operator=(const answer_sizes& other) noexcept {
    longest_.store(other.longest_.load(relaxed), relaxed);
    return *this;
  }
  ~answer_sizes() = default;

  /// A longer one counts at once; shorter ones bring it down slowly.
  void note(std::size_t bytes) noexcept {
    const auto before = longest_.load(relaxed);
    const auto now = bytes >= before ? bytes : before - (before - bytes) / 64;
    if (now != before) longest_.store(now, relaxed);
  }
  /// Of a replay: the answer of one run may be asked for many times.
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
