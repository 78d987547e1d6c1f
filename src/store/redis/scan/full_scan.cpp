#include "store/redis/scan/full_scan.hpp"

#include <algorithm>
#include <set>

#include "base/hash.hpp"
#include "store/redis/scan/slot_ownership.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr int rounds_max = 100;
constexpr std::size_t records_a_step = 64;  // read at a time: an answer may be large

std::array<unsigned char, 8> bytes_of(stamp value) {
  std::array<unsigned char, 8> out{};
  for (auto byte = out.rbegin(); byte != out.rend(); ++byte, value >>= 8) {
    *byte = static_cast<unsigned char>(value & 0xff);
  }
  return out;
}

/// Reads records from the servers that have them now.
awaitable<result<scan_step>> read_records(pool& pool, std::vector<record_id> ids,
                                          steady_time until) {
  std::vector<request> reads;
  for (const auto& id : ids) reads.push_back(record_request(pool.names(), id));
  const auto done = co_await send_all(pool.queue(), std::move(reads), left_until(until));
  scan_step out;
  for (std::size_t i = 0; i < done.size(); ++i) {
    auto got = read_outcome(done[i], read_record);
    if (!got) co_return got.error();
    auto& seen = *got;
    const auto now = instant_of(seen.at);
    if (seen.unreadable) out.unreadable.push_back({ids[i], seen.unreadable->detail});
    if (!seen.found || expired(seen.found->record, now)) continue;
    out.found.emplace_back(listed{seen.found->first, ids[i]},
                           make_view(ids[i], std::move(seen.found->record), now));
    out.found.back().second.stored.answer.reset();
  }
  co_return out;
}

/// Scans servers one after the other.
class server_scan {
 public:
  server_scan(pool& pool, steady_time until, scan_listener& listener)
      : pool_(pool), until_(until), listener_(listener) {}

  /// `moving`: whether another server may have the record, too.
  template <class Moving>
  awaitable<std::optional<error>> run(const server_pin& pin, const Moving& moving) {
    std::string cursor = "0";
    do {
      auto names = scan_names(pool_.names(), pin, cursor);
      const auto done = co_await send_one(pool_.queue(), std::move(names), left_until(until_));
      auto step = read_outcome(done, read_names);
      if (!step) co_return step.error();
      cursor = std::move(step->cursor);
      for (const auto& name : step->names) {
        const auto id =
            pool_.names().id_of(name);  // a name that is not that of a record is skipped
        if (id && (!moving(*id) || seen_.insert(*id).second)) ids_.push_back(*id);
        if (ids_.size() < records_a_step) continue;
        if (auto why = co_await report()) co_return why;
      }
      if (auto why = co_await report()) co_return why;
    } while (cursor != "0");
    co_return std::nullopt;
  }

 private:
  awaitable<std::optional<error>> report() {
    if (ids_.empty()) co_return std::nullopt;
    auto ids = std::exchange(ids_, {});
    auto found = co_await read_records(pool_, std::move(ids), until_);
    if (!found) co_return found.error();
    listener_.take(std::move(*found));
    co_return std::nullopt;
  }

  pool& pool_;
  const steady_time until_;
  scan_listener& listener_;
  std::set<record_id> seen_;
  std::vector<record_id> ids_;
};

awaitable<std::optional<error>> scan_cluster(pool& pool, const std::vector<server_pin>& pins,
                                             steady_time until, scan_listener& listener) {
  const auto before = co_await read_slot_ownership(pool, pins, until);
  if (!before) co_return before.error();
  const auto order = sources_first(*before);
  server_scan scan(pool, until, listener);
  for (const auto node : order) {
    const auto moving = [&](const record_id& id) {
      const auto& part = before->parts[pool.names().part_of(id)];
      return part.owner != node || !part.to.empty();
    };
    if (auto why = co_await scan.run(before->nodes[node].pin, moving)) co_return why;
  }
  const auto after = co_await read_slot_ownership(pool, pins, until);
  if (!after) co_return after.error();
  if (!nothing_passed_by(*before, *after, order)) {
    co_return error(errc::store_unreachable, pool.at().name + ": parts of it moved meanwhile");
  }
  co_return std::nullopt;
}

awaitable<std::optional<error>> scan_once(pool& pool, const std::vector<server_pin>& pins,
                                          steady_time until, scan_listener& listener) {
  if (pool.names().cut()) co_return co_await scan_cluster(pool, pins, until, listener);
  server_scan scan(pool, until, listener);
  const auto nothing_moves = [](const record_id&) { return false; };
  co_return co_await scan.run(pins.front(), nothing_moves);
}

}  // namespace

std::string cursor_of(const listed& last) {
  return base::to_hex(bytes_of(last.first)) + base::to_hex(last.id);
}

result<listed> read_cursor(const std::string& cursor) {
  listed out;
  if (cursor.empty()) return out;
  constexpr std::size_t digits = 16;
  std::array<unsigned char, digits / 2> first{};
  const std::string_view text = cursor;
  const bool good = text.size() > digits && base::from_hex(text.substr(0, digits), first) &&
                    base::from_hex(text.substr(digits), out.id);
  if (!good) return error(errc::invalid_argument, "redis store: no cursor of this store");
  for (const auto byte : first) out.first = out.first << 8 | byte;
  return out;
}

awaitable<std::optional<error>> scan_all(pool& pool, steady_time until, scan_listener& listener) {
  std::optional<error> why;
  for (int round = 0; round < rounds_max; ++round) {
    const auto pins = pool.servers();
    if (pins.empty()) co_return error(errc::store_unreachable, pool.at().name + ": no connection");
    listener.begin();
    why = co_await scan_once(pool, pins, until, listener);
    if (!why || why->code != errc::store_unreachable) co_return why;
    // After a change of servers the scan begins anew, because a cursor is valid on one server only.
    if (left_until(until).count() == 0) co_return why;
  }
  co_return why;
}

}  // namespace onceguard::redis
