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
  /// A read has failed now.
  void note(const frame_location& location, std::int64_t now) {
    const auto [found, first] = by_location_.try_emplace(location, times{now, now});
    if (!first) found->second.last = now;
  }
  /// It could be read, or its record was moved.
  void forget(const frame_location& location) { by_location_.erase(location); }
  /// Of this segment and those before it.
  void forget_up_to(std::uint32_t segment) {
    const auto behind = [&](const auto& each) { return each.first.segment <= segment; };
    std::erase_if(by_location_, behind);
  }
  /// Have all reads failed for so long?
  [[nodiscard]] bool has_failed_for(const frame_location& location, std::int64_t time,
                                    std::int64_t now) const {
    const auto found = by_location_.find(location);
    return found != by_location_.end() && now - found->second.since >= time;
  }
  /// Is the last failure less than this time ago?
  [[nodiscard]] bool has_failed_within(const frame_location& location, std::int64_t time,
                                       std::int64_t now) const {
    const auto found = by_location_.find(location);
    return found != by_location_.end() && now - found->second.last < time;
  }

 private:
  struct times {
    std::int64_t since = 0;
    std::int64_t last = 0;
  };
  struct before {
    bool operator()(const frame_location& a, const frame_location& b) const noexcept {
      return a.segment != b.segment ? a.segment < b.segment : a.step < b.step;
    }
  };

  std::map<frame_location, times, before> by_location_;
};

}  // namespace onceguard::journal
