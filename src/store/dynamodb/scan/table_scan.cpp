#include "store/dynamodb/scan/table_scan.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "store/dynamodb/scan/position.hpp"
#include "store/dynamodb/wire/request_bodies.hpp"

namespace onceguard::dynamodb {
namespace {

using boost::asio::awaitable;

/// Of a list: "BEGIN,END,FIRST,ID".
struct list_cursor {
  std::string begin;  ///< the stretch comes after this id
  std::string end;    ///< and goes up to this one; empty: as far as it goes
  position after;     ///< and of it, what comes after this

  [[nodiscard]] std::string text() const { return begin + ',' + end + ',' + after.text(); }
};

std::optional<list_cursor> read_list_cursor(std::string_view text) {
  list_cursor out;
  if (text.empty()) return out;
  const auto comma = text.find(',');
  const auto next = comma == text.npos ? comma : text.find(',', comma + 1);
  if (next == text.npos) return std::nullopt;
  const auto after = read_position(text.substr(next + 1));
  if (!after) return std::nullopt;
  out.begin = text.substr(0, comma);
  out.end = text.substr(comma + 1, next - comma - 1);
  out.after = *after;
  return out;
}

error wrong_cursor() {
  return {errc::invalid_argument, "list: this cursor was not given by this store"};
}

/// What a stretch has.
struct stretch {
  std::map<position, record_view> found;
  std::vector<unreadable_record> unreadable;
  std::string last;    ///< the id that it ends with
  bool whole = false;  ///< the table ends with it
};

void take(stretch& out, item each, const act_context& context, const list_filter& filter) {
  const auto id = record_of(each.id);
  if (!id) return;  // the store's own
  position where{each.first, each.id};
  const auto seen = read_record(*id, std::move(each), context);
  if (seen.unreadable) out.unreadable.push_back({*id, seen.unreadable->detail});
  if (!seen.stored || expired(seen.stored->record, seen.now)) return;
  where.first = seen.stored->first;
  auto view = view_of(*id, *seen.stored, seen.now, context);
  if (matches(filter, view)) out.found.emplace(std::move(where), std::move(view));
}

awaitable<result<stretch>> read_stretch(std::shared_ptr<batch_queue> queue, act_context context,
                                        const list_filter& filter, const list_cursor& start,
                                        steady_time until) {
  stretch out;
  const auto pause_at = base::boot_now() + left_until(until) / 2;
  out.last = start.begin;
  for (int pages = 0; pages < context.pages_in_order; ++pages) {
    if (pages > 0 && base::boot_now() >= pause_at) break;
    auto call = scan_page(context.table, out.last);
    const auto done = co_await send_one(queue, std::move(call), left_until(until));
    if (done.failed) co_return *done.failed;
    auto page = read_page(done.answer);
    if (!page) co_return page.error();
    for (auto& each : page->items) {
      const bool ends = !start.end.empty() && each.id == start.end;
      take(out, std::move(each), context, filter);
      if (!ends) continue;
      out.last = start.end;
      co_return out;
    }
    out.last = page->last_key;
    if (!start.end.empty() && out.last == start.end) break;
    if (out.last.empty()) {
      out.whole = true;
      break;
    }
  }
  co_return out;
}

}  // namespace

awaitable<result<list_page>> list_table(std::shared_ptr<batch_queue> queue, act_context context,
                                        list_filter filter, std::string cursor, std::size_t limit,
                                        steady_time until) {
  const auto start = read_list_cursor(cursor);
  if (!start) co_return wrong_cursor();
  auto read = co_await read_stretch(std::move(queue), context, filter, *start, until);
  if (!read) co_return read.error();
  list_page out;
  // Unreadable records come once, on the first page of their stretch.
  const bool first = start->after == position();
  if (first) out.unreadable = std::move(read->unreadable);
  auto it = first ? read->found.begin() : read->found.upper_bound(start->after);
  const auto end = read->whole ? std::string() : read->last;
  position last;
  for (; it != read->found.end() && out.records.size() < limit; ++it) {
    last = it->first;
    out.records.push_back(std::move(it->second));
  }
  if (it != read->found.end()) {
    out.cursor = list_cursor{start->begin, end, last}.text();
  } else if (!read->whole) {
    out.cursor = list_cursor{end, {}, {}}.text();
  }
  co_return out;
}

awaitable<result<counts>> count_table(std::shared_ptr<batch_queue> queue, act_context context,
                                      std::string cursor, steady_time until) {
  const auto pause_at = base::boot_now() + left_until(until) / 2;
  counts out;
  out.cursor = std::move(cursor);
  do {
    auto call = scan_page(context.table, out.cursor);
    const auto done = co_await send_one(queue, std::move(call), left_until(until));
    if (done.failed) co_return *done.failed;
    auto page = read_page(done.answer);
    if (!page) co_return page.error();
    for (auto& each : page->items) {
      const auto id = record_of(each.id);
      if (!id) continue;
      const auto seen = read_record(*id, std::move(each), context);
      if (seen.unreadable) ++out.unreadable;
      if (!seen.stored || expired(seen.stored->record, seen.now)) continue;
      ++out.by_state[static_cast<std::size_t>(observe(seen.stored->record, seen.now))];
    }
    out.cursor = page->last_key;
  } while (!out.cursor.empty() && base::boot_now() < pause_at);
  co_return out;
}

}  // namespace onceguard::dynamodb
