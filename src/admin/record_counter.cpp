#include "admin/record_counter.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;

namespace {

constexpr std::size_t page_size = 1'000;

/// The store works for requests at least four fifths of the time.
asio::awaitable<void> give_way(base::boot_clock::time_point begun) {
  const auto taken = std::chrono::duration_cast<milliseconds>(base::boot_now() - begun);
  return sleep_for(taken * 4 + milliseconds(1));
}

}  // namespace

asio::awaitable<std::optional<std::int64_t>> record_counter::find_oldest_unknown(bool noted) {
  list_filter filter;
  filter.states = {observed_state::unknown};
  filter.needs_person = noted;
  std::int64_t oldest = 0;
  std::string cursor;
  do {
    const auto begun = base::boot_now();
    const auto page = co_await records_.list(filter, cursor, page_size, timeout_);
    if (!page) {
      base::log(base::event::records_not_counted, {{"why", page.error().detail}});
      co_return std::nullopt;
    }
    for (const auto& seen : page->records) {
      const auto claimed = seen.stored.claimed_at_wall;
      oldest = oldest == 0 ? claimed : std::min(oldest, claimed);
    }
    cursor = page->cursor;
    co_await give_way(begun);
  } while (!cursor.empty());
  co_return oldest;
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
  out.counted_at_wall = base::system_clock().wall_ms();
  co_return out;
}

asio::awaitable<void> record_counter::run() {
  for (;;) {
    // What is noted is found at once; a count of a large store takes minutes.
    auto oldest = co_await find_oldest_unknown(true);
    publish(oldest, oldest_unknown_);
    std::optional<record_numbers> counted;
    // A store that did not answer is not asked again in this round.
    if (oldest) counted = co_await count_all();
    const bool some =
        counted && counted->found.by_state[static_cast<std::size_t>(observed_state::unknown)] != 0;
    if (some && oldest == 0) {  // not noted yet
      oldest = co_await find_oldest_unknown(false);
      publish(oldest, oldest_unknown_);
    }
    publish(counted, latest_);
    co_await sleep_for(interval_);
  }
}

/// What could not be read stays as it was known last.
template <class Value>
void record_counter::publish(const std::optional<Value>& read, std::optional<Value>& known) {
  if (!read) return;
  const std::lock_guard lock(mutex_);
  known = read;
}

std::optional<record_numbers> record_counter::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

std::int64_t record_counter::counted_at_wall() const {
  const auto last = latest();
  return last ? last->counted_at_wall : made_at_wall_;
}

std::optional<std::int64_t> record_counter::oldest_unknown_wall() const {
  const std::lock_guard lock(mutex_);
  return oldest_unknown_;
}

}  // namespace onceguard::admin
