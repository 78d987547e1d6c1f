// Queries: they walk the table, and read the records that may fit.
#include <algorithm>
#include <chrono>
#include <vector>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/number_in.hpp"
#include "store/journal/reader.hpp"
#include "store/record_view.hpp"

namespace onceguard::journal {
namespace {

// Of one page, or one piece of a count.
constexpr std::size_t examined_max = 20'000;
constexpr std::chrono::milliseconds longest{100};
constexpr std::size_t piece_size = 512;  // looked at under the lock, at a time

bool is_settled(observed_state state) noexcept {
  return state == observed_state::completed || state == observed_state::failed ||
         state == observed_state::released;
}

/// Whether a record that was stored in this state may be in one of the others now; none: any.
bool may_be(record_state stored, const std::vector<observed_state>& states) {
  const auto fits = [stored](observed_state state) {
    return is_settled(state) ? static_cast<int>(state) == static_cast<int>(stored)
                             : stored < record_state::completed;
  };
  return states.empty() || std::any_of(states.begin(), states.end(), fits);
}

}  // namespace

moment record_queries::poll_clocks() {
  const std::lock_guard locked(journal_.lock);
  return journal_.poll_clocks();
}

result<record_in_boot> record_queries::read(const seen_entry& it, const moment& present) {
  auto out = read_record(it.located, it.entry.id, present);
  if (out && it.entry.unreadable) {
    const std::lock_guard locked(journal_.lock);
    auto* entry = journal_.table.find(it.entry.id);
    if (entry && entry->location == it.entry.location) {
      entry->read_again = entry->read_again || entry->unreadable;
      entry->unreadable = false;
    }
  }
  return out;
}

void record_queries::note_unreadable(const record_id& id, const error& why) {
  base::log(
      base::event::stored_record_unreadable,
      {{"store", journal_.location()}, {"record", base::digest_text(id)}, {"why", why.detail}});
  const std::lock_guard locked(journal_.lock);
  if (auto* entry = journal_.table.find(id)) entry->unreadable = true;
}

result<std::optional<record_view>> record_queries::find(const record_id& id) {
  const auto present = poll_clocks();
  seen_entry it;
  {
    const std::lock_guard locked(journal_.lock);
    const auto* entry = journal_.table.find(id);
    if (entry == nullptr) return std::optional<record_view>();
    it = {*entry, journal_.location_of(*entry)};
  }
  auto found = read(it, present);
  if (!found) return found.error();
  if (expired(found->stored, present.now)) return std::optional<record_view>();
  return std::optional(
      make_view(id, std::move(found->stored), present.now, present.wall_ahead, found->revision));
}

/// Calls `visit` with the entries behind the cursor until it returns false, or until the piece is
/// full. Returns the cursor for the rest; empty if none is left.
template <class Visit>
result<std::string> record_queries::walk(const std::string& cursor, Visit visit) {
  const auto behind = base::number_in<std::uint64_t>(cursor.empty() ? "0" : cursor);
  if (!behind) return error(errc::invalid_argument, "this cursor was not given by this store");
  auto after = *behind;
  const auto until = base::boot_now() + longest;
  std::size_t examined = 0;
  std::vector<seen_entry> piece;
  do {
    piece.clear();
    {
      const std::lock_guard locked(journal_.lock);
      journal_.table.walk(after, [&](const key_entry& entry) {
        piece.push_back({entry, journal_.location_of(entry)});
        return piece.size() < piece_size;
      });
    }
    for (const auto& each : piece) {
      if (examined++ >= examined_max || !visit(each)) return std::to_string(after);
      after = each.entry.number;
    }
    if (piece.size() < piece_size) return std::string();
  } while (base::boot_now() < until);
  return std::to_string(after);
}

result<list_page> record_queries::list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit) {
  const auto present = poll_clocks();
  const auto states = states_of(filter);
  list_page page;
  const auto left_out = [&](const key_entry& entry, const error& why) {
    note_unreadable(entry.id, why);
    page.unreadable.push_back({entry.id, why.detail});
    return true;
  };
  auto walked = walk(cursor, [&](const seen_entry& it) {
    if (page.records.size() >= limit) return false;
    if (!it.entry.unreadable && !may_be(it.entry.state, states)) return true;
    auto found = read(it, present);
    if (!found) return left_out(it.entry, found.error());
    if (expired(found->stored, present.now)) return true;
    auto view = make_view(it.entry.id, std::move(found->stored), present.now, present.wall_ahead,
                          found->revision);
    if (matches(filter, view)) page.records.push_back(std::move(view));
    return true;
  });
  if (!walked) return walked.error();
  page.cursor = std::move(*walked);
  return page;
}

result<counts> record_queries::count(const std::string& cursor) {
  const auto present = poll_clocks();
  counts out;
  auto walked = walk(cursor, [&](const seen_entry& it) {
    const auto found = read(it, present);
    if (!found) {
      note_unreadable(it.entry.id, found.error());
      ++out.unreadable;
    } else if (!expired(found->stored, present.now)) {
      ++out.by_state[static_cast<std::size_t>(observe(found->stored, present.now))];
    }
    return true;
  });
  if (!walked) return walked.error();
  out.cursor = std::move(*walked);
  return out;
}

result<vitals> record_queries::read_vitals() {
  const auto segments = [this] {
    const std::lock_guard locked(journal_.lock);
    return journal_.log->segments();
  }();
  for (const auto& each : segments) {
    if (auto there = journal_.check_file(*each); !there) return there.error();
  }
  const std::lock_guard locked(journal_.lock);
  vitals out;
  out.identity = journal_.identity();
  out.generation = journal_.state.granted;
  out.forgotten = journal_.state.forgotten;
  return out;
}

}  // namespace onceguard::journal
