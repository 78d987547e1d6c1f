#include "store/journal/segment_log.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/random.hpp"

namespace onceguard::journal {
namespace {

constexpr std::uint64_t smallest_part = 64;  // a segment is so small a part of the log, at most
constexpr std::uint64_t largest = std::uint64_t{16} << 30;
constexpr std::uint64_t margin_max = std::uint64_t{8} << 20;
// What is written ahead, and the largest group for which that pays.
constexpr std::uint64_t zeros = std::uint64_t{512} << 10;
constexpr std::uint64_t small_group = std::uint64_t{64} << 10;

std::uint64_t random_seed() {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  base::random_bytes(bytes);
  return std::bit_cast<std::uint64_t>(bytes);
}

}  // namespace

void segment_log::take_over(std::deque<segment_ptr> found, const log_position& end,
                            std::uint64_t tail) {
  appended_ = tail;
  segments_ = std::move(found);
  committed_ = end.group;
  commit_ = end.commit;
  // Its end was cut and flushed. What is reserved behind it may be gone: `mend` reserves it anew.
  failed_ = !segments_.empty();
}

result<void> segment_log::write_again(std::uint64_t begin) {
  if (begin == 0) return {};
  const auto& file = *last().bytes;
  std::string group(last().end - begin, '\0');
  std::size_t got = 0;
  int failed = file.read(group.data(), group.size(), begin, got);
  if (failed == 0 && got < group.size()) failed = EIO;
  const auto write = [&] {
    const int why = last().bytes->write(group, begin);
    return why != 0 ? why : last().bytes->flush();
  };
  if (failed == 0) failed = write();
  // Where a file system copies what it overwrites, that needs room, as what removes segments does.
  if (is_full_disk(failed) && take_from_reserve(group.size())) failed = write();
  if (failed != 0) return to_error(failed, files_.location(), "write the last group once more");
  return {};
}

/// Gives back twice as much, and some for what the file system notes itself. False: there is none.
bool segment_log::take_from_reserve(std::uint64_t room) {
  const auto left = files_.open(reserve_name, open_file::existing);
  std::uint64_t size = 0;
  if (!left || (*left)->size(size) != 0) return false;
  room = 2 * room + segment_size_ / 8;
  if (size >= room + least_reserve()) {
    return (*left)->truncate(size - room) == 0 && (*left)->flush() == 0;
  }
  return files_.remove(reserve_name) && files_.flush_names();
}

bool segment_log::has_room(std::uint64_t size) const noexcept {
  return !segments_.empty() && last().end + size <= last().capacity;
}

std::uint64_t segment_log::margin() const noexcept {
  return std::min(margin_max, segment_size_ / 4);
}

/// Blocks that are there, and zero: a group changes neither the file's size nor, on most file
/// systems, the map of its blocks, and finds room for certain.
result<std::unique_ptr<file>> segment_log::reserve_file(const char* name, std::uint64_t size) {
  auto opened = files_.open(name, open_file::created);
  if (!opened) {
    full_ = opened.error().code == errc::store_full;  // no room for its name
    return opened;
  }
  int failed = (*opened)->reserve(size);
  if (failed == 0) failed = (*opened)->flush();
  full_ = is_full_disk(failed);
  if (failed == 0) return opened;
  static_cast<void>(files_.remove(name));  // the next attempt begins it anew
  return to_error(failed, files_.location(), "reserve a segment");
}

void segment_log::extend_reserve(std::uint64_t size) {
  if (reserve_->reserve(size) == 0 && reserve_->flush() == 0) {
    reserved_ = size;
  } else {
    // What a full disk gave of it is for segments.
    static_cast<void>(reserve_->truncate(reserved_));
  }
}

result<void> segment_log::keep_reserve() {
  if (reserve_) {
    // As large as a segment, where there is room: what is moved out of one needs as much.
    const auto size = next_size();
    if (reserved_ < size && !full_ && std::exchange(extension_due_, false)) extend_reserve(size);
    return {};
  }
  // That of an earlier process may be as large as this volume is full.
  std::uint64_t size = 0;
  if (auto left = files_.open(reserve_name, open_file::existing);
      left && (*left)->size(size) == 0 && size >= least_reserve()) {
    reserve_ = std::move(*left);
    reserved_ = size;
    return {};
  }
  auto made = reserve_file(reserve_name, next_size());
  if (!made) return made.error();
  reserve_ = std::move(*made);
  reserved_ = next_size();
  return {};
}

/// A part of the log: so the number of segments, each of which is an open file, grows with the
/// logarithm of the log's size only.
std::uint64_t segment_log::next_size() const noexcept {
  return std::clamp(size() / smallest_part, segment_size_, std::max(segment_size_, largest));
}

result<segment_ptr> segment_log::make_segment(std::uint64_t size, room use) {
  segment_header header;
  header.identity = identity_;
  header.number = segments_.empty() ? 1 : last().number + 1;
  header.former_end = segments_.empty() ? 0 : last().end;
  header.seed = random_seed();
  auto capacity = std::max(next_size(), segment_header_size + size);
  auto made = reserve_file(new_segment_name, capacity);
  const bool by_reserve = !made && full_ && use == room::for_removal && keep_reserve();
  if (!made && !by_reserve) return made.error();
  auto& bytes = by_reserve ? reserve_ : *made;
  int failed = 0;
  if (by_reserve) {
    capacity = std::max(reserved_, segment_header_size + size);
    if (capacity > reserved_) failed = bytes->reserve(capacity);
  }
  if (failed == 0) failed = bytes->write(encode(header), 0);
  if (failed == 0) failed = bytes->flush();
  if (failed != 0) return to_error(failed, files_.location(), "begin a segment");
  auto renamed =
      files_.rename(by_reserve ? reserve_name : new_segment_name, segment_name(header.number));
  if (!renamed) return renamed.error();
  auto out = std::make_shared<segment>();
  out->number = header.number;
  out->seed = header.seed;
  out->bytes = std::move(bytes);
  out->end = segment_header_size;
  out->capacity = capacity;
  return out;
}

void segment_log::accept_segment(segment_ptr made) noexcept {
  segments_.push_back(std::move(made));
  commit_ = 0;
  failed_ = true;
  extension_due_ = true;
}

result<void> segment_log::flush_name() {
  // The name must be on the disk before what the file has counts. An empty segment does no harm.
  if (auto flushed = files_.flush_names(); !flushed) return flushed;
  failed_ = false;
  return {};
}

void segment_log::begin_group() {
  group_.clear();
  // Of a group that failed nothing is left: the next one has its number.
  group_number_ = committed_ + 1;
}

frame_location segment_log::add(frame_header header, std::string_view body) {
  header.group = group_number_;
  frame_location out;
  out.segment = last().number;
  last_frame_ = last().end + group_.size();
  out.step = static_cast<std::uint32_t>(last_frame_ / frame_step);
  append_frame(group_, last().seed, header, body);
  out.body_size = header.body_size;
  return out;
}

/// The first write to a block that was reserved makes the file system note that in its own log, and
/// then a flush takes half as long again. So a small group writes zeros behind itself, over which
/// the next groups are written.
std::uint64_t segment_log::zeros_behind_group() const noexcept {
  const auto& present = last();
  const auto end = present.end + group_.size();
  const bool pays = end > present.written && group_.size() <= small_group;
  if (!pays || end >= present.capacity || !present.bytes->overwrites_blocks()) return 0;
  return std::min(zeros, present.capacity - end);
}

result<void> segment_log::write_group() {
  auto& present = last();
  failed_ = true;
  const auto size = group_.size();
  group_.resize(size + zeros_behind_group(), '\0');
  const int failed = present.bytes->write_through(group_, present.end);
  const auto written = present.end + group_.size();
  group_.resize(size);
  if (failed != 0) return to_error(failed, files_.location(), "write and flush", effect::unknown);
  present.written = std::max(present.written, written);
  failed_ = false;
  return {};
}

void segment_log::accept_group() noexcept {
  last().end += group_.size();
  appended_ += group_.size();
  committed_ = group_number_;
  commit_ = last_frame_;
}

result<void> segment_log::mend() {
  auto& kept = last();
  kept.capacity = std::max(segment_size_, kept.end);
  kept.written = kept.end;
  int failed = kept.bytes->truncate(kept.end);
  if (failed == 0) failed = kept.bytes->flush();
  if (failed == 0) failed = kept.bytes->reserve(kept.capacity);
  if (is_full_disk(failed)) {
    // The segment ends here: what removes others has a file in reserve.
    kept.capacity = kept.end;
    failed = kept.bytes->truncate(kept.capacity);
  }
  if (failed == 0) failed = kept.bytes->flush();
  if (failed != 0) return to_error(failed, files_.location(), "cut off a failed write");
  if (auto flushed = files_.flush_names(); !flushed) return flushed;
  failed_ = false;
  return {};
}

segment_ptr segment_log::find(std::uint32_t number) const {
  if (segments_.empty() || number < segments_.front()->number || number > last().number) {
    return nullptr;
  }
  return segments_[number - segments_.front()->number];
}

result<void> segment_log::remove_oldest_file() {
  return files_.remove(segment_name(segments_.front()->number));
}

std::uint64_t segment_log::size() const noexcept {
  std::uint64_t out = 0;
  for (const auto& each : segments_) out += each->end;
  return out;
}

}  // namespace onceguard::journal
