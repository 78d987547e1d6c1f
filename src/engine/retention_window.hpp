// What came to be stored within the last retention, in a few numbers.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"

namespace onceguard {

struct stored_amount {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

/// Counts by parts of the retention: what was added counts for the retention, and at most for one
/// part more.
class retention_window {
 public:
  using moment = base::boot_clock::time_point;

  explicit retention_window(milliseconds retention) noexcept
      : width_(std::max<std::int64_t>(base::bounded(retention).count(), 0) / parts + 1) {}

  void add(std::uint64_t bytes, moment now) noexcept {
    auto& part = bucket(advance(now));
    ++part.records;
    part.bytes += bytes;
  }

  [[nodiscard]] stored_amount stored(moment now) noexcept {
    advance(now);
    stored_amount out;
    for (const auto& part : buckets_) {
      out.records += part.records;
      out.bytes += part.bytes;
    }
    return out;
  }

  /// How long until `fits` is true of what is then left, if nothing is added; none: it is now.
  template <class Predicate>
  [[nodiscard]] std::optional<milliseconds> wait_until(Predicate fits, moment now) noexcept {
    auto left = stored(now);
    if (fits(left)) return std::nullopt;
    auto oldest = newest_ - parts;
    for (; oldest < newest_; ++oldest) {
      const auto& gone = bucket(oldest);
      left.records -= gone.records;
      left.bytes -= gone.bytes;
      if (fits(left)) break;
    }
    // It goes when the part that is `parts` + 1 behind it begins; indices are ahead by `parts`.
    return milliseconds((oldest + 1) * width_ - milliseconds_of(now));
  }

 private:
  static constexpr std::int64_t parts = 16;

  static std::int64_t milliseconds_of(moment now) noexcept {
    return std::chrono::duration_cast<milliseconds>(now.time_since_epoch()).count();
  }
  stored_amount& bucket(std::int64_t index) noexcept {
    return buckets_[static_cast<std::size_t>(index % (parts + 1))];
  }
  /// Forgets what is over. Of two threads, the one that has looked at the clock first may come
  /// second.
  std::int64_t advance(moment now) noexcept {
    const auto index = std::max(milliseconds_of(now) / width_ + parts, newest_);
    for (auto i = std::max(newest_ + 1, index - parts); i <= index; ++i) bucket(i) = {};
    newest_ = index;
    return index;
  }

  std::int64_t width_;       // of a part, in milliseconds
  std::int64_t newest_ = 0;  // counts from `parts` on, so that none is negative
  std::array<stored_amount, parts + 1> buckets_{};
};

}  // namespace onceguard
