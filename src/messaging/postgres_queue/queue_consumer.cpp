#include "messaging/postgres_queue/queue_consumer.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "base/log.hpp"
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

queue_consumer::queue_consumer(const queue_url& url, const broker_params& params,
                               std::unique_ptr<connection> server)
    : traits_(traits_of(url)),
      outbox_(url.outbox),
      in_flight_(params.in_flight),
      statements_(url),
      server_(std::move(server)),
      recheck_(std::clamp(url.hold, milliseconds(100), recheck_max)),
      window_(window_usual) {}

result<std::unique_ptr<consumer>> queue_consumer::open(const broker_params& params) {
  auto url = parse_queue_url(params.url);
  if (!url) return url.error();
  auto server = connection::open(*url, params.timeout, params.name);
  if (!server) return server.error();
  std::unique_ptr<queue_consumer> out(new queue_consumer(*url, params, std::move(*server)));
  if (auto begun = out->begin(*url, params); !begun) return begun.error();
  return std::unique_ptr<consumer>(std::move(out));
}

result<void> queue_consumer::make(const queue_url& url, const broker_params& params,
                                  const error& missing) {
  const auto advice = std::string("; `onceguard migrate --store URL ") +
                      (url.outbox ? "--outbox" : "--queue") + " TABLE` makes it";
  auto out = error(missing.code, missing.detail + advice);
  // An outbox is filled by a program, which would have made it.
  if (!params.make_queue || url.outbox || url.dead) return out;
  auto made = create_queue(params.url, params.timeout);
  if (made || made.error().code == errc::broker_unreachable) return made;
  out.detail = missing.detail + ", and it can't be made: " + made.error().detail + advice;
  return out;
}

result<void> queue_consumer::begin(const queue_url& url, const broker_params& params) {
  auto checked = server_->run(check_statement(url));
  if (!checked && checked.error().code == errc::not_found) {
    if (auto done = make(url, params, checked.error()); !done) return done.error();
    checked = server_->run(check_statement(url));
  }
  if (!checked) return checked.error();
  if (!checked->boolean(0, 0)) {
    return error(errc::conflict, server_->name() + ": the table is no queue of this version");
  }
  auto channel = server_->run("SELECT " + channel_expression(url.table));
  if (!channel) return channel.error();
  auto listening = server_->run("LISTEN " + std::string(channel->bytes(0, 0)));
  if (!listening) return listening.error();
  return {};
}

result<std::vector<delivery>> queue_consumer::receive(std::size_t most, milliseconds wait) {
  const auto until = base::boot_now() + std::clamp(wait, milliseconds(0), duration_max / 1'000);
  const auto room = std::min(most, in_flight_ - std::min(in_flight_, held_.size()));
  if (room == 0) {
    if (auto waited = wait_full(until); !waited) return waited.error();
    return std::vector<delivery>();
  }
  if (std::exchange(short_, false)) {
    if (auto cleared = clear(); !cleared) return cleared.error();
  }
  auto pause = pause_least;
  for (;;) {
    // Before the read: one that comes during it has to end the wait below.
    server_->take_notifications();  // what they announce is read now
    auto got = take(room);
    if (!got || !got->empty()) return got;
    auto found = clear();
    if (!found) return found.error();
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    if (left <= milliseconds(0)) return got;
    if (found->again) continue;
    auto next = std::min({left, recheck_, found->next.value_or(left)});
    if (found->locked) next = std::min(next, std::exchange(pause, pause * 2));
    if (auto waited = server_->wait(std::max(next, milliseconds(1))); !waited) {
      return waited.error();
    }
  }
}

/// As many are held as may be: waits, and notices the connection's end.
result<void> queue_consumer::wait_full(instant until) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    auto waited = server_->wait(std::max(left, milliseconds(0)));
    if (!waited) return waited.error();
    if (left <= milliseconds(0)) return {};
  }
}

result<std::vector<delivery>> queue_consumer::take(std::size_t most) {
  const auto holder = random_holder();
  auto values = typed();
  const auto count = static_cast<std::int64_t>(std::min<std::size_t>(most, window_usual));
  values.int8(count).bytes(holder);
  values.int8(std::min(traits_.hold, duration_max).count()).int8(window_);
  auto taken = server_->run(statements_.take, values, races::with_unique);
  if (!taken && server_->refused_data()) return take_each(values, holder);
  if (!taken) return taken.error();
  std::vector<std::pair<std::int64_t, int>> order;
  for (int row = 0; row < taken->size(); ++row) order.emplace_back(taken->integer(row, 0), row);
  std::sort(order.begin(), order.end());
  std::vector<delivery> out;
  for (const auto& [id, row] : order) out.push_back(read(*taken, row, holder));
  short_ = !out.empty() && std::cmp_less(out.size(), count);
  return out;
}

result<std::vector<delivery>> queue_consumer::take_each(const parameters& values,
                                                        const std::string& holder) {
  auto taken = server_->run(statements_.hold, values, races::with_unique);
  if (!taken) return taken.error();
  std::vector<std::int64_t> ids;
  for (int row = 0; row < taken->size(); ++row) ids.push_back(taken->integer(row, 0));
  std::sort(ids.begin(), ids.end());
  std::vector<delivery> out;
  for (const auto id : ids) {
    const auto got = server_->run(statements_.read, typed().int8(id).bytes(holder));
    if (!got && server_->refused_data()) {
      if (auto done = set_aside(id, holder, got.error()); !done) return done.error();
    } else if (!got) {
      return got.error();
    } else if (got->size() == 1) {
      out.push_back(read(*got, 0, holder));
    }
  }
  short_ = true;
  return out;
}

result<void> queue_consumer::set_aside(std::int64_t id, const std::string& holder,
                                       const error& why) {
  auto done = server_->run(statements_.set_aside, typed().int8(id).bytes(holder));
  if (!done) return done.error();
  base::log(base::event::queue_row_unreadable,
            {{"queue", server_->name()}, {"row", id}, {"why", why.detail}});
  return {};
}

delivery queue_consumer::read(const rows& got, int row, const std::string& holder) {
  delivery out;
  out.tag = ++last_tag_;
  held_.emplace(out.tag, held_row{got.integer(row, 0), holder});
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

result<queue_consumer::clearance> queue_consumer::clear() {
  auto cleared = server_->run(statements_.clear, typed().int8(window_));
  if (!cleared) return cleared.error();
  clearance out;
  const bool any = cleared->integer(0, 0) > 0;
  const bool full = cleared->boolean(0, 1);
  // All of the window stays as it is: what could be taken may stand behind it.
  const bool wider = full && !any && window_ < window_max;
  if (wider) window_ *= 4;
  if (any || !full) window_ = window_usual;
  out.again = any || wider;
  out.locked = cleared->boolean(0, 3);
  if (!cleared->null(0, 2))
    out.next = milliseconds(std::max<std::int64_t>(0, cleared->integer(0, 2)));
  return out;
}

result<void> queue_consumer::change(std::uint64_t tag, const std::string& statement,
                                    const milliseconds* duration, bool settles) {
  const auto found = held_.find(tag);
  const auto gone = [&] {
    return error(errc::not_found,
                 server_->name() + ": this consumer does not hold delivery " + std::to_string(tag));
  };
  if (found == held_.end()) return gone();
  auto values = typed();
  values.int8(found->second.id).bytes(found->second.holder);
  if (duration != nullptr) {
    values.int8(std::clamp(*duration, milliseconds(0), duration_max).count());
  }
  auto changed = server_->run(statement, values);
  if (!changed) return changed.error();
  const bool was_held = changed->changed();
  if (settles || !was_held) held_.erase(found);
  if (!was_held) return gone();
  return {};
}

result<void> queue_consumer::extend(std::uint64_t tag) {
  return change(tag, statements_.extend, &traits_.hold, false);
}

result<void> queue_consumer::acknowledge(std::uint64_t tag) {
  return change(tag, statements_.acknowledge, nullptr, true);
}

result<void> queue_consumer::give_back(std::uint64_t tag, milliseconds delay) {
  return change(tag, statements_.give_back, &delay, true);
}

result<void> queue_consumer::dead_letter(std::uint64_t tag) {
  if (!traits_.dead_letters) {
    return error(errc::invalid_argument, server_->name() + ": these are dead letters already");
  }
  return change(tag, statements_.dead_letter, nullptr, true);
}

result<std::optional<std::uint64_t>> queue_consumer::backlog() {
  auto counted = server_->run(statements_.backlog);
  if (!counted) return counted.error();
  const auto parked = counted->integer(0, 1);
  if (parked > 0 && parked != parked_rows_) {
    base::log(base::event::queue_rows_parked,
              {{"queue", server_->name()}, {"rows", parked}, {"first", counted->integer(0, 2)}});
  }
  parked_rows_ = parked;
  return std::optional<std::uint64_t>(static_cast<std::uint64_t>(counted->integer(0, 0)));
}

}  // namespace onceguard::messaging::postgres_queue
