#include "store/journal/segment_log.hpp"

#include <algorithm>
#include <cerrno>

namespace onceguard::journal {

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
  if (failed == 0) failed = last().bytes->write(group, begin);
  if (failed == 0) failed = last().bytes->flush();
  if (failed != 0) return to_error(failed, files_.location(), "write the last group once more");
  return {};
}

bool segment_log::has_room(std::uint64_t size) const noexcept {
  return !segments_.empty() && last().end + size <= capacity_;
}

result<void> segment_log::begin_segment(std::uint64_t size) {
  auto next = std::make_shared<segment>();
  next->number = segments_.empty() ? 1 : last().number + 1;
  next->end = segment_header_size;
  segment_header header;
  header.identity = identity_;
  header.number = next->number;
  header.former_end = segments_.empty() ? 0 : last().end;
  const auto capacity = std::max(segment_size_, segment_header_size + size);
  auto opened = files_.open(new_segment_name, open_file::created);
  if (!opened) return opened.error();
  next->bytes = std::move(*opened);
  // Blocks that are there, and zero: a group changes neither the file's size nor, on most file
  // systems, the map of its blocks, and finds room for certain.
  int failed = next->bytes->reserve(capacity);
  if (failed == 0) failed = next->bytes->write(encode(header), 0);
  if (failed == 0) failed = next->bytes->flush();
  if (failed != 0) {
    static_cast<void>(files_.remove(new_segment_name));  // the next attempt begins it anew
    return to_error(failed, files_.location(), "begin a segment");
  }
  if (auto renamed = files_.rename(new_segment_name, segment_name(next->number)); !renamed) {
    return renamed;
  }
  segments_.push_back(std::move(next));
  capacity_ = capacity;
  commit_ = 0;
  // The name must be on the disk before what the file has counts. An empty segment does no harm.
  failed_ = true;
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
  append_frame(group_, last().number, header, body);
  out.body_size = header.body_size;
  return out;
}

result<void> segment_log::write_group() {
  auto& present = last();
  failed_ = true;
  if (const int failed = present.bytes->write(group_, present.end); failed != 0) {
    return to_error(failed, files_.location(), "write", effect::unknown);
  }
  if (const int failed = present.bytes->flush(); failed != 0) {
    return to_error(failed, files_.location(), "flush", effect::unknown);
  }
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
  capacity_ = std::max(segment_size_, last().end);
  int failed = last().bytes->truncate(last().end);
  if (failed == 0) failed = last().bytes->flush();
  if (failed == 0) failed = last().bytes->reserve(capacity_);
  if (failed == 0) failed = last().bytes->flush();
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

result<void> segment_log::remove_oldest() {
  auto removed = files_.remove(segment_name(segments_.front()->number));
  if (!removed) return removed;
  segments_.pop_front();
  // Before the next one is removed: after a power cut, none may be missing in between.
  return files_.flush_names();
}

bool segment_log::still_there() const {
  return segments_.empty() || files_.still_there(segment_name(last().number), *last().bytes);
}

std::uint64_t segment_log::size() const noexcept {
  std::uint64_t out = 0;
  for (const auto& each : segments_) out += each->end;
  return out;
}

}  // namespace onceguard::journal
