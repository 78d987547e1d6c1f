// Records that could not be read, and since when.
#pragma once
#include <cstdint>
#include <map>

#include "store/journal/segment.hpp"

namespace onceguard::journal {

/// A disk may try for seconds before it says that it can't read, and a path to it may come back.
/// Times are those of the boot clock. Used by one thread.
class unread_frames {
 public:
  /// A cable or a path to a disk may come back. A sector does not.
  static constexpr std::int64_t patience = 3'600'000;

  /// A read has failed now.
  void note(const frame_location& location, std::int64_t now) {
    auto& seen = by_location_[location];
    seen.last = now;
    if (seen.counted > 0 && now - seen.last_counted < apart) return;
    ++seen.counted;
    seen.last_counted = now;
  }
  /// It could be read, or its record was moved.
  void forget(const frame_location& location) { by_location_.erase(location); }
  /// Of this segment and those before it.
  void forget_up_to(std::uint32_t segment) {
    const auto behind = [&](const auto& each) { return each.first.segment <= segment; };
    std::erase_if(by_location_, behind);
  }
  /// Have all reads failed for so long? Two of them, an hour apart, say nothing of the time
  /// between: the machine may have been suspended, or nothing was read.
  [[nodiscard]] bool is_lost(const frame_location& location) const {
    const auto found = by_location_.find(location);
    return found != by_location_.end() && found->second.counted >= least_reads;
  }
  /// Is the last failure less than so long ago?
  [[nodiscard]] bool has_just_failed(const frame_location& location, std::int64_t now) const {
    const auto found = by_location_.find(location);
    return found != by_location_.end() && now - found->second.last < patience;
  }

 private:
  static constexpr int least_reads = 4;
  static constexpr std::int64_t apart = patience / (least_reads - 1);
  struct failures {
    int counted = 0;  // each `apart` from the one before
    std::int64_t last_counted = 0;
    std::int64_t last = 0;
  };
  struct before {
    bool operator()(const frame_location& a, const frame_location& b) const noexcept {
      return a.segment != b.segment ? a.segment < b.segment : a.step < b.step;
    }
  };

  std::map<frame_location, failures, before> by_location_;
};

}  // namespace onceguard::journal
