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

/// What a group may use of the disk. Claims meet a full one first, so that what they have begun can
/// still be settled, and then all but what removes segments, so that there is room again.
enum class room : std::uint8_t {
  for_claims,   ///< what leaves a margin in the segment, and a file in reserve
  for_holders,  ///< without margin
  for_removal,  ///< the reserve, too
};

/// A place between two groups.
struct log_position {
  std::uint32_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t group = 0;   ///< the number of the group that ends there
  std::uint64_t commit = 0;  ///< where its commit stands; 0: in the segment before, or nowhere
};

/// One thread appends. Others may call what only looks, under the lock of the store's table, under
/// which the thread calls what is noexcept: no lock is held while a disk works.
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

  /// Does a group of this size fit into the last segment?
  [[nodiscard]] bool has_room(std::uint64_t size) const noexcept;
  /// What claims leave in the last segment to those who have one.
  [[nodiscard]] std::uint64_t margin() const noexcept;
  /// Makes sure that there is a file in reserve. `errc::store_full`: there is no room for it, and
  /// nothing was changed.
  [[nodiscard]] result<void> keep_reserve();
  /// The last attempt to reserve a file met a full disk.
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  /// Makes the next segment, with room for a group of this size. `errc::store_full` as above.
  [[nodiscard]] result<segment_ptr> make_segment(std::uint64_t size, room use);
  /// Under the lock: what is appended goes there from now on, once its name is on the disk.
  void accept_segment(segment_ptr made) noexcept;
  [[nodiscard]] result<void> flush_name();

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
  /// Removes the file of the first segment, which must not be the last one. None of its frames is
  /// needed.
  [[nodiscard]] result<void> remove_oldest_file();
  /// Under the lock, after that.
  void forget_oldest() noexcept {
    segments_.pop_front();
    full_ = false;
    extension_due_ = true;
  }
  /// False: the file was removed, or another one has its name.
  [[nodiscard]] result<bool> still_there(const segment& opened) const {
    return files_.still_there(segment_name(opened.number), *opened.bytes);
  }
  /// Under the lock: behind the last group that was accepted.
  [[nodiscard]] log_position position() const noexcept {
    return {last().number, last().end, committed_, commit_};
  }
  /// Bytes of groups that were accepted, and of the tail that was read at the start.
  [[nodiscard]] std::uint64_t appended() const noexcept { return appended_; }
  [[nodiscard]] std::uint64_t size() const noexcept;

 private:
  [[nodiscard]] bool take_from_reserve(std::uint64_t room);
  /// One that is smaller is made anew.
  [[nodiscard]] std::uint64_t least_reserve() const noexcept { return segment_size_ / 2; }
  [[nodiscard]] result<std::unique_ptr<file>> reserve_file(const char* name, std::uint64_t size);
  void extend_reserve(std::uint64_t size);
  [[nodiscard]] std::uint64_t next_size() const noexcept;
  [[nodiscard]] std::uint64_t zeros_behind_group() const noexcept;
  [[nodiscard]] segment& last() const noexcept { return *segments_.back(); }

  file_layer& files_;
  const std::string identity_;
  const std::uint64_t segment_size_;
  std::deque<segment_ptr> segments_;
  std::unique_ptr<file> reserve_;
  std::uint64_t reserved_ = 0;  // its size
  bool full_ = false;
  bool extension_due_ = true;    // of the reserve, which grows with the log: once for each segment
  std::uint64_t committed_ = 0;  // the number of the last group that was accepted
  std::uint64_t commit_ = 0;     // where its commit stands in the last segment; 0: not there
  std::uint64_t appended_ = 0;
  std::uint64_t last_frame_ = 0;  // of the group that is being made
  std::uint64_t group_number_ = 0;
  std::string group_;
  bool failed_ = false;
};

}  // namespace onceguard::journal
