#include "store/dynamodb/scan/open_records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/dynamodb/scan/position.hpp"
#include "store/dynamodb/scan/table_scan.hpp"
#include "store/dynamodb/wire/request_bodies.hpp"
#include "store/record_view.hpp"

namespace onceguard::dynamodb {
namespace {

using boost::asio::awaitable;

constexpr std::size_t items_at_once = 100;  // a batch has no more

position position_of(const item& entry) { return {entry.first, entry.id}; }

}  // namespace

awaitable<result<std::vector<item>>> open_records::entries(std::vector<std::string> parts,
                                                           std::uint64_t earliest,
                                                           steady_time until) {
  std::vector<item> out;
  std::vector<std::pair<std::string, std::string>> open;  // a part, and where it goes on
  for (auto& each : parts) open.emplace_back(std::move(each), std::string());
  while (!open.empty()) {
    std::vector<request> calls;
    for (const auto& [part, after] : open) {
      calls.push_back(query_part(context_.table, part, earliest, after));
    }
    const auto done = co_await send_all(queue_, std::move(calls), left_until(until));
    const auto round = std::exchange(open, {});
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i].failed) co_return *done[i].failed;
      auto page = read_page(done[i].answer);
      if (!page) co_return page.error();
      std::move(page->items.begin(), page->items.end(), std::back_inserter(out));
      if (!page->last_key_text.empty()) open.emplace_back(round[i].first, page->last_key_text);
    }
  }
  std::sort(out.begin(), out.end(),
            [](const item& a, const item& b) { return position_of(a) < position_of(b); });
  // A record that is moved meanwhile is in both parts.
  const auto same = [](const item& a, const item& b) { return a.id == b.id; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  co_return out;
}

awaitable<result<std::vector<item>>> open_records::items(std::vector<std::string> ids,
                                                         steady_time until) {
  std::vector<item> found;
  auto left = ids;
  while (!left.empty()) {
    auto call = get_items(context_.table, left);
    const auto done = co_await send_one(queue_, std::move(call), left_until(until));
    if (done.failed) co_return *done.failed;
    auto page = read_batch(done.answer, context_.table);
    if (!page) co_return page.error();
    std::move(page->items.begin(), page->items.end(), std::back_inserter(found));
    left = std::move(page->unserved);
  }
  std::vector<item> out;
  for (const auto& id : ids) {
    const auto which =
        std::find_if(found.begin(), found.end(), [&](const item& each) { return each.id == id; });
    if (which != found.end()) out.push_back(std::move(*which));
  }
  co_return out;
}

awaitable<result<list_page>> open_records::list(list_filter filter, std::string cursor,
                                                std::size_t limit, steady_time until) {
  const auto pause_at = base::boot_now() + left_until(until) / 2;
  const auto after = read_position(cursor);
  if (!after) {
    co_return error(errc::invalid_argument, "list: this cursor was not given by this store");
  }
  std::vector<std::string> parts;
  for (std::size_t part = 0; part < index_parts; ++part) {
    parts.push_back(running_part(part));
    parts.push_back(waiting_part(part));
  }
  auto found = co_await entries(std::move(parts), after->first, until);
  if (!found) co_return found.error();
  list_page out;
  std::string last;
  auto it = std::find_if(found->begin(), found->end(),
                         [&](const item& each) { return position_of(each) > *after; });
  while (it != found->end() && out.records.size() < limit) {
    if (!last.empty() && base::boot_now() >= pause_at) break;
    // A page that is nearly full needs few more.
    const auto most = std::min(items_at_once, limit - out.records.size());
    const auto end =
        it + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(most), found->end() - it);
    std::vector<std::string> ids;
    for (; it != end; ++it) {
      ids.push_back(it->id);
      last = position_of(*it).text();
    }
    auto some = co_await items(std::move(ids), until);
    if (!some) co_return some.error();
    for (auto& each : *some) {
      const auto id = record_of(each.id);
      if (!id) continue;
      const auto seen = read_record(*id, std::move(each), context_);
      if (seen.unreadable) out.unreadable.push_back({*id, seen.unreadable->detail});
      if (!seen.stored || expired(seen.stored->record, seen.now)) continue;
      auto view = view_of(*id, *seen.stored, seen.now, context_);
      if (matches(filter, view)) out.records.push_back(std::move(view));
    }
  }
  if (it != found->end()) out.cursor = last;
  co_return out;
}

std::optional<request> open_records::note_of(item found) {
  const auto id = record_of(found.id);
  if (!id) return std::nullopt;
  const auto noted = found.observed;
  const auto seen = read_record(*id, std::move(found), context_);
  const auto waiting = waiting_part(part_of(*id));
  if (seen.unreadable) return note_item(context_.table, *seen.found, waiting, std::nullopt);
  if (!seen.stored || !is_unsettled(seen.stored->record)) return std::nullopt;
  const auto& record = seen.stored->record;
  const auto over_for = seen.now.lease - record.deadline_lease;
  if (over_for < 0) return std::nullopt;
  // From then on an operator may say that it did not happen, and nothing is left to be observed.
  const bool enough = over_for >= record.about->run_timeout.count();
  const auto length = std::max<std::int64_t>(record.deadline_lease - seen.since, 0);
  const bool known = noted != 0 && static_cast<std::int64_t>(noted) >= length;
  if (!enough && known) return std::nullopt;
  const auto age = static_cast<std::uint64_t>(seen.now.lease - seen.since);
  return note_item(context_.table, *seen.found, enough ? waiting : std::string(), age);
}

awaitable<std::optional<error>> open_records::sweep(steady_time pause_at, steady_time until) {
  std::vector<std::string> parts;
  for (std::size_t part = 0; part < index_parts; ++part) parts.push_back(running_part(part));
  const auto earliest = sweep_begin_.exchange(0);
  auto found = co_await entries(std::move(parts), earliest, until);
  if (!found) co_return found.error();
  for (std::size_t begin = 0; begin < found->size(); begin += items_at_once) {
    if (begin > 0 && base::boot_now() >= pause_at) {
      sweep_begin_ = (*found)[begin].first;
      break;
    }
    std::vector<std::string> ids;
    for (std::size_t i = begin; i < std::min(found->size(), begin + items_at_once); ++i) {
      ids.push_back((*found)[i].id);
    }
    auto some = co_await items(std::move(ids), until);
    if (!some) co_return some.error();
    std::vector<request> notes;
    for (auto& each : *some) {
      if (auto note = note_of(std::move(each))) notes.push_back(std::move(*note));
    }
    const auto done = co_await send_all(queue_, std::move(notes), left_until(until));
    for (const auto& each : done) {
      if (each.failed) co_return *each.failed;  // a condition that fails: it was settled meanwhile
    }
  }
  co_return std::nullopt;
}

}  // namespace onceguard::dynamodb
