#include "store/redis/scan/full_scan.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "store/record_view.hpp"
#include "store/redis/scan/slot_ownership.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr int rounds_max = 100;
constexpr std::size_t records_a_step = 64;  // read at a time: an answer may be large

class full_scan {
 public:
  full_scan(server_pool& pool, steady_time until, scan_listener& listener)
      : pool_(pool), until_(until), listener_(listener) {}

  /// Scans all servers, in a cluster in an order in which no moving record is missed.
  awaitable<std::optional<error>> scan(std::vector<server_pin> pins) {
    listener_.begin();
    if (!pool_.names().cut()) co_return co_await scan_server(pins.front());
    const auto before = co_await read_slot_ownership(pool_, pins, until_);
    if (!before) co_return before.error();
    const auto order = sources_first(*before);
    for (const auto node : order) {
      if (auto why = co_await scan_server(before->nodes[node].pin)) co_return why;
    }
    const auto after = co_await read_slot_ownership(pool_, pins, until_);
    if (!after) co_return after.error();
    if (nothing_passed_by(*before, *after, order)) co_return std::nullopt;
    co_return error(errc::store_unreachable, pool_.at().name + ": parts of it moved meanwhile");
  }

 private:
  awaitable<std::optional<error>> scan_server(server_pin pin) {
    std::string cursor = "0";
    do {
      auto names = scan_names(pool_.names(), pin, cursor);
      const auto done = co_await send_one(pool_.queue(), std::move(names), left_until(until_));
      auto step = read_outcome(done, read_names);
      if (!step) co_return step.error();
      cursor = std::move(step->cursor);
      std::vector<record_id> ids;
      for (const auto& name : step->names) {
        // A name that is not that of a record is skipped.
        if (const auto id = pool_.names().id_of(name)) ids.push_back(*id);
      }
      auto why = co_await report_records(pool_, std::move(ids), until_, listener_);
      if (why) co_return why;
    } while (cursor != "0");
    co_return std::nullopt;
  }

  server_pool& pool_;
  const steady_time until_;
  scan_listener& listener_;
};

}  // namespace

std::string cursor_of(const listed& last) {
  return base::to_hex(bytes_of(last.first)) + base::to_hex(last.id);
}

result<listed> read_cursor(const std::string& cursor) {
  listed out;
  if (cursor.empty()) return out;
  stamp_bytes first{};
  const auto digits = 2 * first.size();
  const std::string_view text = cursor;
  const bool good = text.size() > digits && base::from_hex(text.substr(0, digits), first) &&
                    base::from_hex(text.substr(digits), out.id);
  if (!good) return error(errc::invalid_argument, "redis store: no cursor of this store");
  out.first = number_of(base::as_chars(first));
  return out;
}

awaitable<std::optional<error>> report_records(server_pool& pool, std::vector<record_id> ids,
                                               steady_time until, scan_listener& listener) {
  for (std::size_t begin = 0; begin < ids.size(); begin += records_a_step) {
    const auto end = std::min(begin + records_a_step, ids.size());
    std::vector<request> reads;
    for (auto i = begin; i < end; ++i) reads.push_back(record_request(pool.names(), ids[i]));
    const auto done = co_await send_all(pool.queue(), std::move(reads), left_until(until));
    for (auto i = begin; i < end; ++i) {
      auto seen = read_outcome(done[i - begin], read_record);
      if (!seen) co_return seen.error();
      if (seen->unreadable) listener.take_unreadable(ids[i], seen->unreadable->detail);
      const auto now = instant_of(seen->time);
      if (!seen->found || expired(seen->found->record, now)) continue;
      auto view = make_view(ids[i], std::move(seen->found->record), now);
      view.stored.answer.reset();
      listener.take({seen->found->first, ids[i]}, std::move(view));
    }
  }
  co_return std::nullopt;
}

awaitable<std::optional<error>> scan_all(server_pool& pool, steady_time until,
                                         scan_listener& listener) {
  full_scan all(pool, until, listener);
  std::optional<error> why;
  for (int round = 0; round < rounds_max; ++round) {
    auto pins = pool.servers();
    if (pins.empty()) co_return error(errc::store_unreachable, pool.at().name + ": no connection");
    why = co_await all.scan(std::move(pins));
    if (!why || why->code != errc::store_unreachable) co_return why;
    // After a change of servers the scan begins anew, because a cursor is valid on one server only.
    if (left_until(until).count() == 0) co_return why;
  }
  co_return why;
}

}  // namespace onceguard::redis
