// The segments of a journal in their order: groups are appended to the last one, and the oldest are
// removed.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/error.hpp>

#include "store/journal/file_layer.hpp"
#include "store/journal/frame.hpp"
#include "store/journal/segment.hpp"

namespace onceguard::journal {

/// A place between two groups.
struct log_position {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t group = 0;   ///< the number of the group that ends there
  std::uint64_t commit = 0;  ///< where its commit stands; 0: in the segment before, or nowhere
};

/// One thread appends. `find` may be called by others, under the lock of the store's table, under
/// which `begin_segment` and `remove_oldest` are called, too.
class segment_log {
 public:
  segment_log(file_layer& files, std::string identity, std::uint64_t segment_size)
      : files_(files), identity_(std::move(identity)), segment_size_(segment_size) {}

  /// For the recovery: the segments that are there, oldest first.
  /// `tail`: how many bytes of them were read from the log itself.
  void take_over(std::deque<segment_ptr> found, const log_position& end, std::uint64_t tail);
  /// For the recovery: what stands from `begin` to the end goes to the disk for certain; 0:
  /// nothing. A process that was killed may have left its last group in the kernel's memory alone,
  /// and after a flush that failed, a flush of its clean pages would say nothing.
  [[nodiscard]] result<void> write_again(std::uint64_t begin);

  /// Makes sure that a group of this size fits into the last segment. `errc::store_full`: there is
  /// no room for another segment, and nothing was changed.
  [[nodiscard]] bool has_room(std::uint64_t size) const noexcept;
  [[nodiscard]] result<void> begin_segment(std::uint64_t size);

  // One group: its frames and at last a commit are added, and then written and flushed.
  void begin_group();
  /// Returns the place at which the frame will stand.
  frame_location add(frame_header header, std::string_view body);
  [[nodiscard]] std::uint64_t group_size() const noexcept { return group_.size(); }
  /// After an error nothing is known of the group, nor of the file behind the group before: `mend`
  /// comes before anything else.
  [[nodiscard]] result<void> write_group();
  /// Under the lock, after `write_group`: the next group comes behind it.
  void accept_group() noexcept;
  /// Cuts off what a failed group may have left. Until that has succeeded, nothing is written.
  [[nodiscard]] result<void> mend();
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  [[nodiscard]] segment_ptr find(std::uint32_t number) const;
  [[nodiscard]] const std::deque<segment_ptr>& segments() const noexcept { return segments_; }
  /// Removes the first segment, which must not be the last one. None of its frames is needed.
  [[nodiscard]] result<void> remove_oldest();
  [[nodiscard]] bool still_there() const;
  /// Under the lock: behind the last group that was accepted.
  [[nodiscard]] log_position position() const noexcept {
    return {last().number, last().end, committed_, commit_};
  }
  /// Bytes of groups that were accepted, and of the tail that was read at the start.
  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  [[nodiscard]] segment& last() const noexcept { return *segments_.back(); }

  file_layer& files_;
  const std::string identity_;
  const std::uint64_t segment_size_;
  std::deque<segment_ptr> segments_;
  std::uint64_t capacity_ = 0;   // of the last segment
  std::uint64_t committed_ = 0;  // the number of the last group that was accepted
  std::uint64_t commit_ = 0;     // where its commit stands in the last segment; 0: not there
  std::uint64_t appended_ = 0;
  std::uint64_t last_frame_ = 0;  // of the group that is being made
  std::uint64_t group_number_ = 0;
  std::string group_;
  bool failed_ = false;
};

}  // namespace onceguard::journal
