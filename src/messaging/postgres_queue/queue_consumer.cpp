#include "messaging/postgres_queue/queue_consumer.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "messaging/postgres_queue/queue_table.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

constexpr std::int64_t window_usual = 1'000;
constexpr std::int64_t window_max = 1'000'000;
// Some 3,000 years: the database's times stay far from overflow.
constexpr milliseconds duration_max{100'000'000'000'000};
// While others have locked what could be taken; grows.
constexpr milliseconds pause_least{5};
// Nobody announces that a consumer takes a row, which becomes visible again if it dies.
constexpr milliseconds recheck_max{5'000};

std::string random_holder() {
  std::array<unsigned char, 16> out{};
  base::random_bytes(out);
  return std::string(base::as_chars(out));
}

/// Names and values in turn.
std::vector<attribute> pairs_of(std::vector<std::string> words) {
  std::vector<attribute> out;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    out.emplace_back(std::move(words[i]), std::move(words[i + 1]));
  }
  return out;
}

consumer_traits traits_of(const queue_url& url) {
  consumer_traits out;
  out.hold = url.hold;
  out.delays = true;
  out.dead_letters = !url.dead;
  out.counts = true;
  out.ordered = !url.dead;
  return out;
}

}  // namespace

queue_consumer::queue_consumer(const queue_url& url, const broker_params& params)
    : holding_consumer(params.in_flight),
      traits_(traits_of(url)),
      outbox_(url.outbox),
      statements_(url),
      server_(value_of(connection::open(url, params.timeout, params.name))),
      recheck_(std::clamp(url.hold, milliseconds(100), recheck_max)),
      window_(window_usual) {
  begin(url, params);
}

error queue_consumer::refusal(errc code, std::string_view words) const {
  return {code, server_->name() + ": " + std::string(words)};
}

void queue_consumer::make(const queue_url& url, const broker_params& params, const error& missing) {
  const auto advice = std::string("; `onceguard migrate --store URL ") +
                      (url.outbox ? "--outbox" : "--queue") + " TABLE` makes it";
  // An outbox is filled by a program, which would have made it.
  if (!params.make_queue || url.outbox || url.dead) {
    throw failed{error(missing.code, missing.detail + advice)};
  }
  const auto made = create_queue(params.url, params.timeout);
  if (made) return;
  if (made.error().code == errc::broker_unreachable) throw failed{made.error()};
  throw failed{error(missing.code,
                     missing.detail + ", and it can't be made: " + made.error().detail + advice)};
}

void queue_consumer::begin(const queue_url& url, const broker_params& params) {
  auto checked = server_->run(check_statement(url));
  if (!checked && checked.error().code == errc::not_found) {
    make(url, params, checked.error());
    checked = server_->run(check_statement(url));
  }
  if (!value_of(std::move(checked)).boolean(0, 0)) {
    throw failed{refusal(errc::conflict, "the table is no queue of this version")};
  }
  const auto channel = ask("SELECT " + channel_expression(url.table));
  ask("LISTEN " + std::string(channel.bytes(0, 0)));
}

std::vector<delivery> queue_consumer::fetch(std::size_t most, moment until) {
  const auto room = room_for(most);
  if (room == 0) {
    wait_full(until);
    return {};
  }
  if (std::exchange(short_, false)) clear();
  auto pause = pause_least;
  for (;;) {
    // Before the read: one that comes during it has to end the wait below.
    server_->take_notifications();  // what they announce is read now
    auto got = take(room);
    if (!got.empty()) return got;
    const auto found = clear();
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    if (left <= milliseconds(0)) return got;
    if (found.again) continue;
    auto next = std::min({left, recheck_, found.next.value_or(left)});
    if (found.locked) next = std::min(next, std::exchange(pause, pause * 2));
    static_cast<void>(value_of(server_->wait(std::max(next, milliseconds(1)))));
  }
}

/// As many are held as may be: waits, and notices the connection's end.
void queue_consumer::wait_full(moment until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    static_cast<void>(value_of(server_->wait(std::max(left, milliseconds(0)))));
    if (left <= milliseconds(0)) return;
  }
}

std::vector<delivery> queue_consumer::take(std::size_t most) {
  const auto holder = random_holder();
  auto values = typed();
  const auto count = static_cast<std::int64_t>(std::min<std::size_t>(most, window_usual));
  values.int8(count).bytes(holder);
  values.int8(std::min(traits_.hold, duration_max).count()).int8(window_);
  auto got = server_->run(statements_.take, values, races::with_unique);
  if (!got && server_->refused_data()) return take_each(values, holder);
  const auto taken = value_of(std::move(got));
  std::vector<std::pair<std::int64_t, int>> order;
  for (int row = 0; row < taken.size(); ++row) order.emplace_back(taken.integer(row, 0), row);
  std::sort(order.begin(), order.end());
  std::vector<delivery> out;
  for (const auto& [id, row] : order) out.push_back(read(taken, row, holder));
  short_ = !out.empty() && std::cmp_less(out.size(), count);
  return out;
}

std::vector<delivery> queue_consumer::take_each(const parameters& values,
                                                const std::string& holder) {
  const auto taken = value_of(server_->run(statements_.hold, values, races::with_unique));
  std::vector<std::int64_t> ids;
  for (int row = 0; row < taken.size(); ++row) ids.push_back(taken.integer(row, 0));
  std::sort(ids.begin(), ids.end());
  std::vector<delivery> out;
  for (const auto id : ids) {
    auto got = server_->run(statements_.read, typed().int8(id).bytes(holder));
    if (!got && server_->refused_data()) {
      set_aside(id, holder, got.error());
    } else if (const auto whole = value_of(std::move(got)); whole.size() == 1) {
      out.push_back(read(whole, 0, holder));
    }
  }
  short_ = true;
  return out;
}

void queue_consumer::set_aside(std::int64_t id, const std::string& holder, const error& why) {
  ask(statements_.set_aside, typed().int8(id).bytes(holder));
  base::log(base::event::queue_row_unreadable,
            {{"queue", server_->name()}, {"row", id}, {"why", why.detail}});
}

delivery queue_consumer::read(const rows& got, int row, const std::string& holder) {
  delivery out;
  out.tag = hold({got.integer(row, 0), holder});
  auto& received = out.received;
  if (!got.null(row, 1)) received.properties.emplace_back("message_id", got.bytes(row, 1));
  received.order_key = got.bytes(row, 2);
  received.payload = got.bytes(row, 3);
  received.headers = pairs_of(got.array(row, 4));
  out.count = static_cast<std::uint32_t>(got.integer(row, 5));
  if (outbox_) {
    received.properties.emplace_back(row_property, std::to_string(got.integer(row, 0)));
    for (auto& more : pairs_of(got.array(row, 6))) received.properties.push_back(std::move(more));
  }
  return out;
}

queue_consumer::clearance queue_consumer::clear() {
  const auto cleared = ask(statements_.clear, typed().int8(window_));
  clearance out;
  const bool any = cleared.integer(0, 0) > 0;
  const bool full = cleared.boolean(0, 1);
  // All of the window stays as it is: what could be taken may stand behind it.
  const bool wider = full && !any && window_ < window_max;
  if (wider) window_ *= 4;
  if (any || !full) window_ = window_usual;
  out.again = any || wider;
  out.locked = cleared.boolean(0, 3);
  if (!cleared.null(0, 2))
    out.next = milliseconds(std::max<std::int64_t>(0, cleared.integer(0, 2)));
  return out;
}

void queue_consumer::change(const held_row& row, const std::string& statement,
                            std::optional<milliseconds> duration) {
  auto values = typed();
  values.int8(row.id).bytes(row.holder);
  if (duration) values.int8(duration->count());
  if (!ask(statement, values).changed()) {
    throw failed{refusal(errc::not_found, "this consumer does not hold the delivery any more")};
  }
}

queue_consumer::moment queue_consumer::prolong(held_row& row, moment end) {
  change(row, statements_.extend, std::min(traits_.hold, duration_max));
  return end;
}

void queue_consumer::confirm(std::uint64_t /*tag*/, held_row& row) {
  change(row, statements_.acknowledge);
}

void queue_consumer::put_back(std::uint64_t /*tag*/, held_row& row, milliseconds delay) {
  change(row, statements_.give_back, delay);
}

void queue_consumer::bury(std::uint64_t /*tag*/, held_row& row) {
  if (!traits_.dead_letters) {
    throw failed{refusal(errc::invalid_argument, "these are dead letters already")};
  }
  change(row, statements_.dead_letter);
}

std::optional<std::uint64_t> queue_consumer::count_waiting() {
  const auto counted = ask(statements_.backlog);
  const auto parked = counted.integer(0, 1);
  if (parked > 0 && parked != parked_rows_) {
    base::log(base::event::queue_rows_parked,
              {{"queue", server_->name()}, {"rows", parked}, {"first", counted.integer(0, 2)}});
  }
  parked_rows_ = parked;
  return static_cast<std::uint64_t>(counted.integer(0, 0));
}

}  // namespace onceguard::messaging::postgres_queue
