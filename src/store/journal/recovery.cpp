#include "store/journal/recovery.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "store/journal/checkpoint.hpp"
#include "store/journal/window.hpp"

namespace onceguard::journal {
namespace {

error lost(const std::string& location, std::uint32_t number, std::uint64_t offset,
           const std::string& why) {
  return error(errc::store_lost,
               "journal store " + location + ": " + segment_name(number) + " at byte " +
                   std::to_string(offset) + ": " + why +
                   ". Claims that were answered may be missing, so nothing is taken from it. "
                   "Restore a backup, or move the folder away to begin with an empty store");
}

class replay {
 public:
  replay(file_layer& files, key_table& table, checkpoint_use use)
      : files_(files), table_(table), use_(use) {}

  result<recovered> run() {
    auto numbers = list_segments();
    if (!numbers) return numbers.error();
    if (auto begun = begin_with_checkpoint(*numbers); !begun) return begun.error();
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const bool last = i + 1 == numbers->size();
      if (auto done = read_segment((*numbers)[i], last); !done) return done.error();
    }
    if (groups_ > 0 && !out_.has_state) {
      return lost_at(segment_->end, "the last commit is damaged");
    }
    if (auto whole = check_ends(); !whole) return whole.error();
    table_.sort();
    for (std::size_t slot = 0; slot < table_.slots(); ++slot) {
      if (const auto* entry = table_.at_slot(slot)) count_live(*entry);
    }
    return std::move(out_);
  }

 private:
  struct pending {
    frame_header header;
    frame_location location;
    bool whole = true;
  };

  [[nodiscard]] error lost_at(std::uint64_t offset, const std::string& why) const {
    return lost(files_.location(), segment_->number, offset, why);
  }

  [[nodiscard]] error unknown_format(std::uint32_t found) const {
    return error(errc::invalid_argument,
                 "journal store " + files_.location() + ": " + segment_name(segment_->number) +
                     " has format " + std::to_string(found) +
                     ", which this version does not read. Take the version that wrote it, or "
                     "another folder");
  }

  result<std::vector<std::uint32_t>> list_segments() {
    auto names = files_.list();
    if (!names) return names.error();
    std::vector<std::uint32_t> numbers;
    for (const auto& each : *names) {
      if (const auto number = segment_number(each)) numbers.push_back(*number);
      has_checkpoint_ = has_checkpoint_ || each == checkpoint_name;
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] != numbers[i - 1] + 1) {
        return lost(files_.location(), numbers[i - 1] + 1, 0, "the file is missing");
      }
    }
    return numbers;
  }

  result<void> begin_with_checkpoint(const std::vector<std::uint32_t>& numbers) {
    if (!has_checkpoint_) return {};
    if (numbers.empty()) {
      return lost(files_.location(), 1, 0, "there is a checkpoint, and no segment");
    }
    if (use_ == checkpoint_use::ignored) return {};
    auto read = read_checkpoint(files_, table_, numbers.front());
    out_.checkpoint_fault = std::move(read.fault);
    if (!read.found) return {};
    if (read.found->begin.segment < numbers.front()) {
      // Segments behind it were removed as well: what is left is read as a whole.
      table_.clear();
      return {};
    }
    checkpoint_ = std::move(read.found);
    out_.identity = checkpoint_->identity;
    out_.state = checkpoint_->state;
    out_.has_state = true;
    out_.end = checkpoint_->begin;
    groups_ = 1;
    return {};
  }

  /// What is certain to have been there, at both ends of the log.
  [[nodiscard]] result<void> check_ends() const {
    if (out_.segments.empty()) return {};
    const auto& present = *out_.segments.back();
    if (checkpoint_ &&
        (present.number < checkpoint_->end.segment ||
         (present.number == checkpoint_->end.segment && present.end < checkpoint_->end.offset))) {
      return lost(files_.location(), present.number, present.end,
                  "the log ends here, and went on when the checkpoint was written");
    }
    const auto oldest = out_.segments.front()->number;
    if (groups_ == 0 && oldest > 1 && !has_checkpoint_) {
      return lost(files_.location(), oldest - 1, 0, "the file is missing");
    }
    if (out_.has_state && oldest > out_.state.first_segment) {
      return lost(files_.location(), out_.state.first_segment, 0, "the file is missing");
    }
    return {};
  }

  result<void> read_segment(std::uint32_t number, bool last) {
    auto opened = files_.open(segment_name(number), open_file::existing);
    if (!opened) return opened.error();
    segment_ = std::make_shared<segment>();
    segment_->number = number;
    segment_->bytes = std::move(*opened);
    if (last) written_end_ = segment_->bytes->written_end();
    std::string bytes(segment_header_size, '\0');
    std::size_t got = 0;
    const int failed = segment_->bytes->read(bytes.data(), bytes.size(), 0, got);
    if (failed != 0) return lost_at(0, std::strerror(failed));
    bytes.resize(got);
    std::uint32_t other_format = 0;
    const auto header = decode_segment_header(bytes, &other_format);
    if (other_format != 0) return unknown_format(other_format);
    if (!header || header->number != number) return lost_at(0, "its header is damaged");
    segment_->seed = header->seed;
    if (out_.identity.empty()) out_.identity = header->identity;
    if (header->identity != out_.identity) return lost_at(0, "it belongs to another journal");
    if (!out_.segments.empty()) {
      auto& former = *out_.segments.back();
      if (is_left_out(former.number)) former.end = header->former_end;
      if (former.end != header->former_end) {
        return lost(files_.location(), number - 1, former.end,
                    "a frame is damaged or missing: by the next segment, its frames end at byte " +
                        std::to_string(header->former_end));
      }
    }
    out_.segments.push_back(segment_);
    if (!checkpoint_ || number > checkpoint_->begin.segment) out_.end.commit = 0;
    out_.last_group = 0;  // a segment begins after the flush of the one before
    if (is_left_out(number)) return {};
    window seen(*segment_->bytes);
    if (checkpoint_ && number == checkpoint_->begin.segment && !has_seen_group(seen)) {
      return lost_at(checkpoint_->begin.commit,
                     "the group that ended here when the checkpoint was "
                     "written is damaged or missing");
    }
    return read_groups(seen, last);
  }

  /// Is the group there with which the checkpoint begins? The segment may be an older copy.
  bool has_seen_group(window& seen) const {
    const auto& begin = checkpoint_->begin;
    if (begin.commit == 0) return begin.offset == segment_header_size;
    const auto header = header_at(seen, begin.commit);
    return header && header->kind == frame_kind::commit && header->group == begin.group &&
           begin.commit + header->whole_size() == begin.offset;
  }

  /// Has the checkpoint all of this segment?
  [[nodiscard]] bool is_left_out(std::uint32_t number) const {
    return checkpoint_ && number < checkpoint_->begin.segment;
  }

  /// Reads group by group, up to the first bytes that are no whole group.
  result<void> read_groups(window& seen, bool last) {
    std::vector<pending> group;
    const bool begins_within = checkpoint_ && segment_->number == checkpoint_->begin.segment;
    const auto begin = begins_within ? checkpoint_->begin.offset : segment_header_size;
    auto offset = begin;
    segment_->end = offset;
    while (const auto header = header_at(seen, offset)) {
      if (!is_next(*header, group)) break;
      pending each{*header, location_of(*header, offset), true};
      // In a segment that is full, the groups are on the disk for certain.
      const bool reads_bodies = last || use_ == checkpoint_use::ignored;
      if (reads_bodies || header->kind == frame_kind::commit)
        each.whole = body_is_whole(seen, each);
      group.push_back(each);
      offset += header->whole_size();
      if (header->kind != frame_kind::commit) continue;
      auto committed = commit(seen, group, last, offset);
      if (!committed) return committed.error();
      if (!*committed) break;
      group.clear();
    }
    if (seen.failed() != 0) return lost_at(offset, std::strerror(seen.failed()));
    out_.tail += segment_->end - begin;
    return last ? check_tail(seen, offset) : result<void>();
  }

  /// The groups of the first segment may begin with any number: earlier segments were removed.
  [[nodiscard]] bool is_next(const frame_header& header, const std::vector<pending>& group) const {
    if (!group.empty()) return header.group == group.front().header.group;
    return groups_ == 0 || header.group == out_.end.group + 1;
  }

  std::optional<frame_header> header_at(window& seen, std::uint64_t offset) const {
    const auto bytes = seen.at(offset, frame_header_size);
    if (bytes.size() < frame_header_size) return std::nullopt;
    return read_header(bytes, segment_->seed);
  }

  [[nodiscard]] frame_location location_of(const frame_header& header, std::uint64_t offset) const {
    return {segment_->number, static_cast<std::uint32_t>(offset / frame_step), header.body_size};
  }

  [[nodiscard]] bool body_is_whole(window& seen, const pending& each) const {
    const auto body = seen.at(each.location.offset() + frame_header_size, each.header.body_size);
    return body_fits(each.header, segment_->seed, body);
  }

  /// False: the group is torn, and there was none after it.
  result<bool> commit(window& seen, const std::vector<pending>& group, bool last,
                      std::uint64_t end) {
    const auto& closing = group.back();
    const bool whole =
        std::all_of(group.begin(), group.end(), [](const pending& each) { return each.whole; });
    std::optional<journal_state> state;
    if (closing.whole) {
      state = decode_state(
          seen.at(closing.location.offset() + frame_header_size, closing.header.body_size));
    }
    if (!whole && last && !is_followed(seen, end, closing.header.group)) return false;
    // Of a commit that can't be read, the next one has all that it said.
    out_.has_state = state.has_value();
    if (state) out_.state = std::move(*state);
    ++groups_;
    out_.end.group = closing.header.group;
    out_.end.commit = closing.location.offset();
    out_.last_group = segment_->end;
    for (const auto& each : group) {
      if (each.header.kind == frame_kind::record) take(each);
    }
    segment_->end = end;
    return true;
  }

  void take(const pending& each) {
    key_entry entry;
    entry.id = each.header.id;
    entry.number = each.header.number;
    entry.expires_at = each.header.expires_at;
    entry.location = each.location;
    entry.state = static_cast<record_state>(each.header.state);
    // One that was moved when it could not be read any more has no body.
    entry.unreadable = !each.whole || each.header.body_size == 0;
    table_.put_unordered(entry);
  }

  void count_live(const key_entry& entry) {
    const auto first = out_.segments.front()->number;
    out_.segments[entry.location.segment - first]->live += entry.location.whole_size();
  }

  /// A group is written once the one before is on the disk: one that is followed was not torn by a
  /// crash, but damaged since.
  [[nodiscard]] bool is_followed(window& seen, std::uint64_t offset, std::uint64_t group) const {
    std::uint64_t size = 0;
    if (segment_->bytes->size(size) != 0) return true;
    return has_later_group(seen, segment_->seed, offset, std::min(size, written_end_), group);
  }

  /// What is behind the last whole group is nothing, or one group that was not finished, with
  /// headers up to `offset`: what stands in their bodies is not looked at.
  result<void> check_tail(window& seen, std::uint64_t offset) {
    std::uint64_t size = 0;
    if (const int failed = segment_->bytes->size(size); failed != 0) {
      return lost_at(segment_->end, std::strerror(failed));
    }
    if (is_followed(seen, offset, out_.end.group + 1)) {
      return lost_at(segment_->end, "a frame is damaged, and later ones are there");
    }
    if (seen.failed() != 0) return lost_at(segment_->end, std::strerror(seen.failed()));
    const auto next = seen.at(segment_->end, frame_header_size);
    const bool clean = std::all_of(next.begin(), next.end(), [](char c) { return c == '\0'; });
    out_.cut_off = !clean;
    return {};
  }

  file_layer& files_;
  key_table& table_;
  const checkpoint_use use_;
  std::optional<checkpoint> checkpoint_;
  bool has_checkpoint_ = false;
  recovered out_;
  segment_ptr segment_;
  std::uint64_t written_end_ = 0;  // of the last segment
  std::uint64_t groups_ = 0;
};

}  // namespace

bool has_later_group(window& seen, std::uint64_t seed, std::uint64_t offset, std::uint64_t end,
                     std::uint64_t group) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  while (offset < end) {
    const auto bytes = seen.at(offset, piece);
    if (bytes.size() < frame_header_size) break;
    for (std::size_t i = 0; i + frame_header_size <= bytes.size(); i += frame_step) {
      if (bytes[i] == '\0') continue;  // most of what is reserved
      const auto header = read_header(bytes.substr(i), seed);
      if (header && header->group > group) return true;
    }
    // A header that begins in this piece may end in the next one.
    offset += bytes.size() < piece ? bytes.size() : piece - frame_header_size;
  }
  return false;
}

result<recovered> recover(file_layer& files, key_table& table, checkpoint_use use) {
  return replay(files, table, use).run();
}

}  // namespace onceguard::journal
