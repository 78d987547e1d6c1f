#include "store/journal/sweeper.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/log.hpp"

namespace onceguard::journal {

bool sweeper::is_expired(const key_entry& entry, const moment& present) const {
  if (entry.expires_at == 0 || present.now.wall < entry.expires_at) return false;
  if (entry.state < record_state::completed) {
    const auto read = read_record(journal_.location_of(entry), entry.id, present);
    // A record that can't be read may hold a lease: it stays.
    return read && expired(read->stored, present.now);
  }
  record settled;
  settled.state = entry.state;
  settled.expires_at_wall = entry.expires_at;
  return expired(settled, present.now);
}

std::size_t sweeper::remove_expired(const moment& present, std::size_t& slots, std::size_t most) {
  auto& table = journal_.table;
  std::vector<key_entry*> gone;
  for (; slots > 0 && gone.size() < most && table.slots() > 0; --slots) {
    if (slot_ >= table.slots()) slot_ = 0;
    auto* entry = table.at_slot(slot_++);
    if (entry != nullptr && is_expired(*entry, present)) gone.push_back(entry);
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

result<std::vector<frame_move>> sweeper::next_moves() {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  constexpr std::size_t most_frames = 16'384;  // looked at
  const auto& oldest = *journal_.log->segments().front();
  if (reading_ != oldest.number) {
    reading_ = oldest.number;
    offset_ = segment_header_size;
  }
  std::vector<frame_move> out;
  std::size_t bytes = 0;
  for (std::size_t seen = 0; offset_ < oldest.end && oldest.live > 0; ++seen) {
    if (bytes >= most_bytes || seen >= most_frames) break;
    std::string header_bytes(frame_header_size, '\0');
    std::size_t got = 0;
    const int failed = oldest.bytes->read(header_bytes.data(), header_bytes.size(), offset_, got);
    if (failed != 0) return to_error(failed, journal_.location(), "read");
    const auto header =
        got < frame_header_size ? std::nullopt : read_header(header_bytes, oldest.seed);
    if (!header) {
      if (auto damaged = step_over_damage(oldest)) out.push_back(std::move(*damaged));
      continue;
    }
    const frame_location location{oldest.number, static_cast<std::uint32_t>(offset_ / frame_step),
                                  header->body_size};
    offset_ += header->whole_size();
    const auto* entry =
        header->kind == frame_kind::record ? journal_.table.find(header->id) : nullptr;
    if (entry == nullptr || entry->location != location) continue;
    int unread = 0;
    auto whole = read_frame(oldest, location, header->id, &unread);
    if (unread != 0) {  // it may be there the next time
      offset_ = location.offset();
      return to_error(unread, journal_.location(), "read");
    }
    // A damaged record stays what it is: without a body, it can't be read either.
    out.push_back({header->id, *header, whole ? std::move(whole->body) : std::string()});
    bytes += location.whole_size();
  }
  return out;
}

/// By the table, as the header does not say where the next frame is. A record whose header is
/// damaged can't be read, and stays so.
std::optional<frame_move> sweeper::step_over_damage(const segment& oldest) {
  base::log(base::event::page_unreadable,
            {{"store", journal_.location()},
             {"why", segment_name(oldest.number) + ": a frame's header is damaged"},
             {"code", "byte " + std::to_string(offset_)}});
  auto& table = journal_.table;
  const key_entry* next = nullptr;
  for (std::size_t slot = 0; slot < table.slots(); ++slot) {
    const auto* entry = table.at_slot(slot);
    if (entry == nullptr || entry->location.segment != oldest.number) continue;
    if (entry->location.offset() < offset_) continue;
    if (next == nullptr || entry->location.step < next->location.step) next = entry;
  }
  if (next == nullptr) {
    offset_ = oldest.end;
    return std::nullopt;
  }
  if (next->location.offset() > offset_) {
    offset_ = next->location.offset();
    return std::nullopt;
  }
  offset_ += next->location.whole_size();
  frame_move out;
  out.id = out.header.id = next->id;
  out.header.number = next->number;
  out.header.state = static_cast<std::uint8_t>(next->state);
  out.header.expires_at = next->expires_at;
  return out;
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
  // Before the next one is removed: after a power cut, none may be missing in between.
  if (auto flushed = journal_.files().flush_names(); !flushed) return flushed;
  base::log(base::event::segment_removed, {{"store", journal_.location()},
                                           {"segment", segment_name(oldest->number)},
                                           {"bytes", oldest->end}});
  return {};
}

}  // namespace onceguard::journal
