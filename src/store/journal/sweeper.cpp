#include "store/journal/sweeper.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"

namespace onceguard::journal {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;  // moved in one step

}  // namespace

std::optional<bool> sweeper::read_expired(key_entry& entry, const moment& present) {
  // A record that can't be read may hold a lease: it stays. A sweep comes often.
  if (unread_.has_just_failed(entry.location, clock_.boot_ms())) return false;
  const auto read = read_record(journal_.location_of(entry), entry.id, present);
  if (!read) {
    note_unread(entry);
    return std::nullopt;
  }
  unread_.forget(entry.location);
  return expired(read->stored, present.now);
}

std::optional<bool> sweeper::is_expired(key_entry& entry, const moment& present) {
  if (entry.expires_at == 0 || present.now.wall < entry.expires_at) return false;
  if (entry.state < record_state::completed) return read_expired(entry, present);
  record settled;
  settled.state = entry.state;
  settled.expires_at_wall = entry.expires_at;
  return expired(settled, present.now);
}

std::size_t sweeper::remove_expired(const moment& present, std::size_t& slots, std::size_t most) {
  auto& table = journal_.table;
  std::vector<key_entry*> gone;
  bool failed = false;
  for (; !failed && slots > 0 && gone.size() < most && table.slots() > 0; --slots) {
    if (slot_ >= table.slots()) slot_ = 0;
    auto* const entry = table.at_slot(slot_++);
    if (entry == nullptr) continue;
    const auto found = is_expired(*entry, present);
    failed = !found;
    if (found && *found) gone.push_back(entry);
  }
  const std::lock_guard locked(journal_.lock);
  for (auto* entry : gone) {
    journal_.log->find(entry->location.segment)->live -= entry->location.whole_size();
    table.remove(*entry);
  }
  return gone.size();
}

bool sweeper::has_work() const {
  const auto& log = *journal_.log;
  const auto& segments = log.segments();
  if (segments.size() < 2 && !log.is_full()) return false;
  std::uint64_t live = 0;
  for (const auto& each : segments) live += each->live;
  const auto unneeded = log.size() - live;
  // On a full disk no room is too little. What is moved takes room, too, so some is to be gained.
  const auto enough = log.is_full() ? log.size() / 8 : log.size() / 2;
  return segments.front()->live == 0 || unneeded > enough;
}

void sweeper::begin_with(std::uint32_t segment) noexcept {
  reading_ = segment;
  by_table_ = false;
  reported_.clear();
  begin_anew();
}

void sweeper::begin_anew() noexcept {
  offset_ = segment_header_size;
  next_slot_ = failed_reads_ = 0;
}

sweeper::step sweeper::next_moves() {
  const auto& oldest = *journal_.log->segments().front();
  if (reading_ != oldest.number) begin_with(oldest.number);
  return by_table_ ? moves_by_table(oldest) : moves_by_frames(oldest);
}

sweeper::step sweeper::moves_by_frames(const segment& oldest) {
  constexpr std::size_t most_frames = 16'384;  // looked at
  step out;
  std::size_t bytes = 0;
  std::string header_bytes(frame_header_size, '\0');
  for (std::size_t seen = 0; offset_ < oldest.end && oldest.live > 0; ++seen) {
    out.more = bytes >= most_bytes || seen >= most_frames;
    if (out.more) return out;
    std::size_t got = 0;
    int failed = oldest.bytes->read(header_bytes.data(), header_bytes.size(), offset_, got);
    const auto header = failed != 0 || got < frame_header_size
                            ? std::nullopt
                            : read_header(header_bytes, oldest.seed);
    std::optional<frame_move> found;
    if (header) {
      const frame_location location{oldest.number, static_cast<std::uint32_t>(offset_ / frame_step),
                                    header->body_size};
      const auto* entry =
          header->kind == frame_kind::record ? journal_.table.find(header->id) : nullptr;
      if (entry == nullptr || entry->location != location) {
        offset_ += header->whole_size();
        continue;
      }
      auto whole = read_frame(oldest, location, header->id, &failed);
      if (!whole && failed == 0) report(offset_, "a record that is needed is damaged");
      // A damaged record stays what it is: without a body, it can't be read either.
      found = frame_move{header->id, *header, whole ? std::move(whole->body) : std::string()};
    }
    if (!header || failed != 0) {
      report(offset_, failed != 0 ? std::strerror(failed) : "a frame's header is damaged");
      by_table_ = out.more = true;
      return out;
    }
    out.moves.push_back(*std::move(found));
    bytes += header->whole_size();
    offset_ += header->whole_size();
  }
  return out;
}

/// One pass over the table, whatever is damaged.
sweeper::step sweeper::moves_by_table(const segment& oldest) {
  constexpr std::size_t most_slots = 65'536;  // looked at
  // A disk may try for seconds before it says that it can't read. The next sweep goes on.
  constexpr std::size_t most_failed = 16;
  auto& table = journal_.table;
  step out;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; next_slot_ < table.slots() && oldest.live > 0; ++seen) {
    if (failed_reads_ >= most_failed) {
      failed_reads_ = 0;
      return out;
    }
    out.more = bytes >= most_bytes || seen >= most_slots;
    if (out.more) return out;
    auto* const entry = table.at_slot(next_slot_++);
    if (entry == nullptr || entry->location.segment != oldest.number) continue;
    int failed = 0;
    auto whole = read_frame(oldest, entry->location, entry->id, &failed);
    if (failed != 0) note_unread(*entry);
    // Its segment would keep all later ones.
    if (failed != 0 && !unread_.is_lost(entry->location)) {
      ++failed_reads_;
      report(entry->location.offset(),
             std::string("a record that is needed can't be read now: ") + std::strerror(failed));
      out.more = true;  // the record stays where it is for now, and with it the segment
      return out;
    }
    bytes += entry->location.whole_size();
    frame_move found;
    if (whole) {
      unread_.forget(entry->location);
      found = {entry->id, whole->header, std::move(whole->body)};
    } else {
      report(entry->location.offset(),
             failed != 0 ? "a record that is needed can't be read, and is given up"
                         : "a record that is needed is damaged",
             failed != 0);
      found.id = found.header.id = entry->id;
      found.header.number = entry->number;
      found.header.state = static_cast<std::uint8_t>(entry->state);
      found.header.expires_at = entry->expires_at;
    }
    out.moves.push_back(std::move(found));
    if (failed != 0) {
      ++failed_reads_;
      out.more = true;
      return out;
    }
  }
  begin_anew();  // what the disk did not deliver is tried again
  return out;
}

/// A read that has succeeded meanwhile, whoever needed the record, begins the hour anew, also where
/// another one has failed since.
void sweeper::note_unread(key_entry& entry) {
  const bool failed_before = [&] {
    const std::lock_guard locked(journal_.lock);  // a query may note it, too
    const bool read_again = std::exchange(entry.read_again, false);
    return std::exchange(entry.unreadable, true) && !read_again;
  }();
  if (!failed_before) unread_.forget(entry.location);
  unread_.note(entry.location, clock_.boot_ms());
}

/// Each place once, however often it is read anew, as on a full disk it is with each sweep. What is
/// given up is always reported: its answer goes.
void sweeper::report(std::uint64_t offset, const std::string& why, bool given_up) {
  constexpr std::size_t most = 1'000;  // of a segment; lists name the others
  if (reported_.size() >= most && !given_up) return;
  if (!reported_.emplace(offset, why).second) return;
  base::log(base::event::page_unreadable, {{"store", journal_.location()},
                                           {"why", segment_name(reading_) + ": " + why},
                                           {"code", "byte " + std::to_string(offset)}});
}

bool sweeper::oldest_is_unneeded() const {
  const auto& segments = journal_.log->segments();
  return segments.size() > 1 && segments.front()->live == 0;
}

result<void> sweeper::remove_oldest() {
  const auto oldest = journal_.log->segments().front();
  auto& log = *journal_.log;
  if (auto removed = log.remove_oldest_file(); !removed) return removed;
  {
    const std::lock_guard locked(journal_.lock);
    log.forget_oldest();
  }
  unread_.forget_up_to(oldest->number);
  // Before the next one is removed: after a power cut, none may be missing in between.
  if (auto flushed = journal_.files().flush_names(); !flushed) return flushed;
  base::log(base::event::segment_removed, {{"store", journal_.location()},
                                           {"segment", segment_name(oldest->number)},
                                           {"bytes", oldest->end}});
  return {};
}

}  // namespace onceguard::journal
