#include "store/journal/group.hpp"

#include <algorithm>

#include "store/imported_record.hpp"
#include "store/record_errors.hpp"

namespace onceguard::journal {

group::group(open_journal& opened, record_cache& cache, const moment& present)
    : journal_(opened), cache_(cache), present_(present), next_(opened.state) {}

result<const record*> group::load(const record_id& id) {
  if (const auto found = changed_.find(id); found != changed_.end()) {
    return &*changes_[found->second].stored;
  }
  auto* const entry = journal_.table.find(id);
  if (entry == nullptr) return static_cast<const record*>(nullptr);
  if (const auto* cached = cache_.find(id, entry->location)) {
    loaded_ = cached->seen;
    if (cached->boot != present_.boot) end_lease_of_earlier_boot(loaded_.stored, present_.now);
    return &loaded_.stored;
  }
  auto read = read_record(journal_.location_of(*entry), id, present_);
  {
    const std::lock_guard locked(journal_.lock);
    entry->read_again = entry->read_again || (read && entry->unreadable);
    entry->unreadable = !read;  // lists of what needs a person have it from now on
  }
  if (!read) return read.error();
  loaded_ = std::move(*read);
  // As of this boot: a lease that has ended with an earlier one ends once.
  cache_.put(id, {entry->location, present_.boot, loaded_});
  return &loaded_.stored;
}

void group::write(const record_id& id, record stored, const encoded_parts& parts) {
  ++writes_;
  const auto [found, added] = changed_.try_emplace(id, changes_.size());
  if (added) {
    const auto* entry = journal_.table.find(id);
    auto& header = changes_.emplace_back().header;
    header.id = id;
    header.number = entry != nullptr ? entry->number : next_.next_number++;
    header.boot = present_.boot;
  }
  auto& changed = changes_[found->second];
  changed.header.state = static_cast<std::uint8_t>(stored.state);
  changed.header.expires_at = stored.expires_at_wall;
  changed.body = encode_record(stored, parts);
  bytes_ += changed.body.size();
  changed.stored = std::move(stored);
}

void group::apply(frame_move moved) {
  ++writes_;
  auto& changed = changes_.emplace_back();
  changed.header = moved.header;
  changed.body = std::move(moved.body);
}

result<verdict> group::apply(const claim& request, const encoded_parts& parts) {
  if (!request.about) return subject_missing();
  const auto found = load(request.id);
  if (!found) return found.error();
  auto decided = decide(*found, request, present_.now, next_.last_token + 1);
  if (decided.write) {
    next_.last_token = std::max(next_.last_token, decided.write->token);
    ++next_.granted;
    write(request.id, std::move(*decided.write), parts);
  }
  return std::move(decided.verdict);
}

result<settled> group::apply(const settlement& request, const encoded_parts& parts) {
  const auto found = load(request.id);
  if (!found) return found.error();
  auto decided = decide_settle(*found, request, present_.now);
  if (decided.write) {
    if (!decided.write->about) return subject_missing();
    write(request.id, std::move(*decided.write), parts);
  }
  return std::move(decided.result);
}

result<bool> group::apply(const extension& request, const encoded_parts& parts) {
  const auto found = load(request.id);
  if (!found) return found.error();
  auto decided = decide_extension(*found, request, present_.now);
  if (decided.write) write(request.id, std::move(*decided.write), parts);
  return !decided.stale;
}

result<resolve_decision> group::apply(const resolution& request, const encoded_parts& parts) {
  const auto found = load(request.id);
  if (!found && !request.force) return found.error();
  auto decided = found ? decide_resolution(*found, request, present_.now, revision_of(*found))
                       : resolve_unreadable(request, present_.now, next_.last_token + 1);
  if (!decided.write) return decided;
  if (decided.forgets_answer) ++next_.forgotten;
  next_.last_token = std::max(next_.last_token, decided.write->token);
  write(request.id, *decided.write, parts);
  return decided;
}

result<import_outcome> group::apply(const imported_record& request, const encoded_parts& parts) {
  if (!request.stored.about) return subject_missing();
  const auto found = load(request.id);
  if (!found) return found.error();
  auto decided = decide_import(*found, request, present_.now);
  if (decided.write) {
    next_.last_token = token_above(next_.last_token, decided.write->token, present_.now);
    write(request.id, std::move(*decided.write), parts);
  }
  return decided.outcome;
}

void group::add_frames() {
  auto& log = *journal_.log;
  log.begin_group();
  for (auto& each : changes_) each.location = log.add(each.header, each.body);
  frame_header closing;
  closing.kind = frame_kind::commit;
  static_cast<void>(log.add(closing, encode(next_)));
}

result<void> group::commit(room use) {
  next_.last_wall = std::max(next_.last_wall, present_.now.wall);
  next_.wall = journal_.guard.memory();
  constexpr std::uint64_t commit_room = 1'024;
  std::uint64_t size = commit_room;
  for (const auto& each : changes_) size += frame_header_size + each.body.size() + frame_step;
  if (auto made = journal_.make_room(size, use); !made) return made;
  add_frames();
  return journal_.log->write_group();
}

void group::publish() {
  auto& log = *journal_.log;
  {
    const std::lock_guard locked(journal_.lock);
    log.accept_group();
    for (const auto& each : changes_) {
      auto* const known = journal_.table.find(each.header.id);
      if (known) log.find(known->location.segment)->live -= known->location.whole_size();
      auto& entry = known ? *known : journal_.table.put(each.header.id, each.header.number);
      entry.location = each.location;
      entry.state = static_cast<record_state>(each.header.state);
      entry.expires_at = each.header.expires_at;
      // A move mends nothing. What could not be read any more moves without a body.
      entry.unreadable = !each.stored && (entry.unreadable || each.body.empty());
      entry.read_again = false;
      log.find(entry.location.segment)->live += entry.location.whole_size();
    }
    journal_.state = next_;
  }
  for (auto& each : changes_) {
    if (!each.stored) continue;
    const auto revision = each.stored->deadline_lease;
    cache_.put(each.header.id, {each.location, present_.boot, {*std::move(each.stored), revision}});
  }
  changes_.clear();
  changed_.clear();
}

}  // namespace onceguard::journal
