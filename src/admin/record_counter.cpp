#include "admin/record_counter.hpp"

#include "base/clock.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;

namespace {

/// The store works for requests at least four fifths of the time.
asio::awaitable<void> give_way(base::boot_clock::time_point begun) {
  const auto taken = std::chrono::duration_cast<milliseconds>(base::boot_now() - begun);
  return sleep_for(taken * 4 + milliseconds(1));
}

}  // namespace

asio::awaitable<std::int64_t> record_counter::find_oldest_unknown() {
  list_filter filter;
  filter.states = {observed_state::unknown};
  std::string cursor;
  do {
    const auto begun = base::boot_now();
    const auto page = co_await records_.list(filter, cursor, 1, timeout_);
    if (!page) break;
    if (!page->records.empty()) co_return page->records.front().stored.claimed_at_wall;
    cursor = page->cursor;
    co_await give_way(begun);
  } while (!cursor.empty());
  co_return 0;
}

asio::awaitable<std::optional<record_numbers>> record_counter::count_all() {
  record_numbers out;
  std::string cursor;
  do {
    const auto begun = base::boot_now();
    const auto piece = co_await records_.count(cursor, timeout_);
    if (!piece) {
      base::log(base::event::records_not_counted, {{"why", piece.error().detail}});
      co_return std::nullopt;
    }
    for (std::size_t i = 0; i < piece->by_state.size(); ++i) {
      out.found.by_state[i] += piece->by_state[i];
    }
    out.found.unreadable += piece->unreadable;
    cursor = piece->cursor;
    co_await give_way(begun);
  } while (!cursor.empty());
  if (out.found.by_state[static_cast<std::size_t>(observed_state::unknown)] != 0) {
    out.oldest_unknown_wall = co_await find_oldest_unknown();
  }
  out.counted_at_wall = base::system_clock().wall_ms();
  co_return out;
}

asio::awaitable<void> record_counter::run() {
  for (;;) {
    if (const auto counted = co_await count_all()) {
      const std::lock_guard lock(mutex_);
      latest_ = counted;
    }
    co_await sleep_for(interval_);
  }
}

std::optional<record_numbers> record_counter::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

}  // namespace onceguard::admin
