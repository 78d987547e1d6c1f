#include "store/redis/full_scan.hpp"

#include <algorithm>
#include <set>

#include "store/redis/slot_ownership.hpp"
#include "store/redis/wire.hpp"

namespace onceguard::redis {
namespace {

using boost::asio::awaitable;

constexpr int rounds_max = 100;

/// Reads the heads of records, a batch at a time.
struct heads {
  static constexpr bool writes = false;
  struct item {
    record_id id{};
  };
  using outcome = found_head;
  [[nodiscard]] static std::optional<error> complaint(const item&) { return std::nullopt; }
  static void write(std::string& text, const script_calls& scripts, const keyspace& names,
                    const item& item) {
    write_head(text, scripts, names, item.id);
  }
  [[nodiscard]] static result<found_head> read(const reply& reply, const item& item) {
    return read_head(reply, item.id);
  }
};

question_traits traits_of(const server_pin& pin) {
  question_traits out;
  out.pin = pin;
  return out;
}

awaitable<result<scan_step>> scan_once(pool& pool, const server_pin& pin, std::string cursor,
                                       scan_scope wish, steady_time until) {
  auto write = [cursor = std::move(cursor), wish](std::string& text, const script_calls& scripts,
                                                  const keyspace& names) {
    write_scan(text, scripts, names, cursor, wish.state, wish.heads);
  };
  auto read = [&pool, wish](const reply& reply) {
    return read_scan(reply, pool.names(), wish.heads);
  };
  const auto left = left_until(until);
  auto request =
      make_question<scan_step>(traits_of(pin), std::nullopt, left, std::move(write), read);
  return ask(pool.queue(), std::move(request), left);
}

/// Scans a single server.
awaitable<std::optional<error>> scan_server(pool& pool, const server_pin& pin, scan_scope wish,
                                            steady_time until, scan_listener& listener) {
  std::string cursor = "0";
  do {
    auto step = co_await scan_once(pool, pin, cursor, wish, until);
    if (!step) co_return step.error();
    cursor = step->cursor;
    listener.take(std::move(*step));
  } while (cursor != "0");
  co_return std::nullopt;
}

awaitable<result<name_step>> names_once(pool& pool, const server_pin& pin, std::string cursor,
                                        steady_time until) {
  auto write = [cursor = std::move(cursor)](std::string& text, const script_calls&,
                                            const keyspace& names) {
    write_names(text, names, cursor);
  };
  auto read = [&pool](const reply& reply) -> result<name_step> {
    return read_names(reply, pool.names());
  };
  const auto left = left_until(until);
  auto request =
      make_question<name_step>(traits_of(pin), std::nullopt, left, std::move(write), read);
  return ask(pool.queue(), std::move(request), left);
}

/// Reads the records of these names from the servers that have them now.
awaitable<result<scan_step>> poll(pool& pool, const std::vector<record_id>& ids, scan_scope wish,
                                  steady_time until) {
  std::vector<heads::item> items;
  items.reserve(ids.size());
  for (const auto& id : ids) items.push_back({id});
  const auto left = left_until(until);
  const auto whole = std::make_shared<batch_job<heads>>(std::move(items), left);
  co_await perform(whole, pool.queue(), left);
  scan_step out;
  auto outcomes = whole->outcomes();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    auto& each = outcomes[i];
    if (!each && each.error().code == errc::record_unreadable) {
      out.unreadable.push_back({ids[i], each.error().detail});
    } else if (!each) {
      co_return each.error();
    } else if (*each) {
      const auto state = static_cast<std::size_t>((*each)->second.state);
      ++out.counts[state];
      if (wish.state == 0 || wish.state == static_cast<int>(state)) {
        out.found.push_back(std::move(**each));
      }
    }
  }
  co_return out;
}

/// Scans a node of a cluster. `seen`: the reported records of parts that are moving.
awaitable<std::optional<error>> scan_node(pool& pool, const slot_ownership& now, std::size_t node,
                                          scan_scope wish, steady_time until,
                                          std::set<record_id>& seen, scan_listener& listener) {
  std::string cursor = "0";
  do {
    auto step = co_await names_once(pool, now.nodes[node].pin, cursor, until);
    if (!step) co_return step.error();
    cursor = step->cursor;
    std::erase_if(step->found, [&](const record_id& id) {
      const auto& part = now.parts[pool.names().part_of(id)];
      const bool settled = part.owner == node && part.to.empty();
      return !settled && !seen.insert(id).second;
    });
    auto found = co_await poll(pool, step->found, wish, until);
    if (!found) co_return found.error();
    listener.take(std::move(*found));
  } while (cursor != "0");
  co_return std::nullopt;
}

awaitable<std::optional<error>> scan_cluster(pool& pool, const std::vector<server_pin>& pins,
                                             scan_scope wish, steady_time until,
                                             scan_listener& listener) {
  const auto before = co_await read_slot_ownership(pool, pins, until);
  if (!before) co_return before.error();
  const auto order = sources_first(*before);
  std::set<record_id> seen;
  for (const auto node : order) {
    if (auto why = co_await scan_node(pool, *before, node, wish, until, seen, listener))
      co_return why;
  }
  const auto after = co_await read_slot_ownership(pool, pins, until);
  if (!after) co_return after.error();
  if (!nothing_passed_by(*before, *after, order)) {
    co_return error(errc::store_unreachable, pool.at().name + ": parts of it moved meanwhile");
  }
  co_return std::nullopt;
}

}  // namespace

awaitable<std::optional<error>> scan_all(pool& pool, scan_scope wish, steady_time until,
                                         scan_listener& listener) {
  std::optional<error> why;
  for (int round = 0; round < rounds_max; ++round) {
    const auto pins = pool.servers();
    if (pins.empty()) co_return error(errc::store_unreachable, pool.at().name + ": no connection");
    listener.begin();
    if (pool.names().cut()) {
      why = co_await scan_cluster(pool, pins, wish, until, listener);
    } else {
      why = co_await scan_server(pool, pins.front(), wish, until, listener);
    }
    if (!why || why->code != errc::store_unreachable) co_return why;
    // After a change of servers the scan begins anew, because a cursor is valid on one server only.
    if (left_until(until).count() == 0) co_return why;
  }
  co_return why;
}

}  // namespace onceguard::redis
