#include "store/postgres/batching/connection_pool.hpp"

#include <boost/asio/post.hpp>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/random.hpp"

namespace onceguard::postgres {
namespace {

using std::chrono::duration_cast;

constexpr std::chrono::milliseconds pace{5};  // between two examinations of delayed entries
constexpr std::chrono::milliseconds short_pace{
    1};  // while an idle connection waits for more of them
constexpr std::int64_t backoff_first_ms = 50;
constexpr std::int64_t backoff_most_ms = 2'000;
constexpr std::size_t announced_digits = 16;
// For how long a process wants to be notified of settles after somebody began to wait.
constexpr std::chrono::seconds listening_span{30};

}  // namespace

connection_pool::connection_pool(postgres_params params, conninfo where)
    : params_(std::move(params)),
      where_(std::move(where)),
      queue_(std::make_shared<batch_queue>(
          [this] { boost::asio::post(context_, [this] { turn(); }); })),
      dispatcher_(params_, where_.name),
      timer_(context_) {
  connection_events& descriptor = *this;
  for (std::size_t i = 0; i < std::max<std::size_t>(params_.connections, 1); ++i) {
    connections_.push_back(
        {std::make_unique<connection>(context_, descriptor, params_.timeout), {}});
  }
  thread_ = std::thread([this] { run(); });
}

std::optional<error> connection_pool::wait_until_ready() {
  // The thread gives up by itself. It is late only while a host name is resolved.
  if (is_ready_.wait_for(2 * params_.timeout) == std::future_status::ready) return is_ready_.get();
  return error(errc::store_unreachable, where_.name + ": no connection within the timeout");
}

void connection_pool::listen(settled_listener listener) {
  const std::lock_guard lock(listening_);
  reported_ = std::move(listener);
  met_busy_ = true;
  boost::asio::post(context_, [this] { turn(); });
}

void connection_pool::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

// --- the thread -----------------------------------------------------------------------------

void connection_pool::run() {
  const auto keep = boost::asio::make_work_guard(context_);
  turn();
  context_.run();
  for (auto& each : connections_) each.connection->close();
}

/// All that may have to be done next, in the order in which one step leads to the next.
void connection_pool::turn() {
  const auto now = base::boot_now();
  const bool closing = queue_->closed();
  // While all connections are busy, new calls collect in the queue without waking this thread.
  if (closing || any_idle() || !any_ready()) {
    while (queue_->poll(calls_)) dispatcher_.accept(calls_);
  }
  open_connections(now);
  note_outage(now);
  listen_for_settles(now);
  hand_out();
  dispatcher_.purge();
  if (closing && !any_ready() && dispatcher_.waiting()) {
    dispatcher_.fail_waiting(error(errc::stopped, "the store was stopped while out of reach"));
  }
  dispatcher_.deliver();
  if (closing && !dispatcher_.waiting() && !dispatcher_.under_way()) return context_.stop();
  wait_for_next_turn(now);
}

/// One turn after this event, for all events that come at the same time.
void connection_pool::soon() {
  if (std::exchange(turn_posted_, true)) return;
  boost::asio::post(context_, [this] {
    turn_posted_ = false;
    turn();
  });
}

void connection_pool::open_connections(steady_time now) {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    auto& each = connections_[i];
    // The first connection is the one that listens for announcements.
    if (each.connection->closed() && each.open_at <= now) {
      each.open_at = steady_time::max();
      each.connection->open(where_.targets[target_ % where_.targets.size()], i == 0);
    }
  }
}

void connection_pool::hand_out() {
  for (auto& each : connections_) {
    if (!each.connection->idle()) continue;
    auto next = dispatcher_.next();
    if (!next) return;
    trips_.fetch_add(1, std::memory_order_relaxed);
    each.connection->start(std::move(next));
  }
}

void connection_pool::wait_for_next_turn(steady_time now) {
  auto next_turn = steady_time::max();
  if (dispatcher_.waiting() || dispatcher_.under_way()) {
    next_turn = now + (dispatcher_.waiting() && any_idle() ? short_pace : pace);
  }
  if (!ready_reported_) next_turn = std::min(next_turn, opened_at_ + params_.timeout);
  for (const auto& each : connections_) {
    if (each.connection->closed()) next_turn = std::min(next_turn, each.open_at);
  }
  if (timer_at_ <= next_turn) return;
  timer_at_ = next_turn;
  timer_.expires_after(next_turn - base::boot_now());
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    timer_at_ = steady_time::max();
    turn();
  });
}

// --- connections ----------------------------------------------------------------------------

bool connection_pool::any_ready() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.connection->ready(); });
}

bool connection_pool::any_idle() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& each) { return each.connection->idle(); });
}

connection_pool::kept_connection& connection_pool::kept(const connection& connection) {
  return *std::find_if(connections_.begin(), connections_.end(),
                       [&](const auto& each) { return each.connection.get() == &connection; });
}

void connection_pool::on_greeting(const connection&, const greeting& greeting) {
  // The first greeting sets the clock that steps are measured against. After that, each poll
  // reports the clock.
  if (!dispatcher_.knows_clock()) dispatcher_.read_clock(greeting.now);
  if (greeting.older) base::log(base::event::store_older_copy, {{"store", where_.name}});
  if (memory().identity.empty()) {
    dispatcher_.read_memory(greeting.identity, 0);
  } else if (greeting.identity != memory().identity) {
    dispatcher_.gate().changed();  // a poll reports whose memory it is
  }
}

/// Asks for notifications while somebody may wait, on the first connection, if that is no pooler's.
void connection_pool::listen_for_settles(steady_time now) {
  const auto& first = *connections_.front().connection;
  if (!first.ready() || first.pooled() || now < listens_until_ - listening_span / 2) return;
  if (!met_busy_.exchange(false)) return;
  {
    const std::lock_guard lock(listening_);
    if (!reported_) return;
  }
  listens_until_ = now + listening_span;
  dispatcher_.listen(first.number(), 2 * listening_span);
}

void connection_pool::on_ready(connection& connection) {
  auto& mine = kept(connection);
  if (connection.pooled() && !std::exchange(pooler_logged_, true)) {
    base::log(base::event::store_behind_pooler, {{"store", where_.name}});
  }
  soon();
  if (std::exchange(mine.was_ready, true)) return;
  mine.failures = 0;
  last_failure_.reset();
  say_ready(std::nullopt);
  if (!out_since_) return;
  const auto now = base::boot_now();
  if (outage_logged_) {
    const auto lasted = duration_cast<milliseconds>(now - *out_since_);
    base::log(base::event::store_server_back,
              {{"store", where_.name}, {"after_ms", lasted.count()}});
  }
  out_since_.reset();
  outage_logged_ = false;
  for (auto& each : connections_) {
    if (each.connection->closed()) each.open_at = now;
  }
}

void connection_pool::on_lost(connection& connection, const failure& why) {
  const auto now = base::boot_now();
  auto& mine = kept(connection);
  mine.open_at = next_try(mine, now);
  last_failure_ = why;
  soon();
  if (any_ready()) return;
  if (!out_since_) out_since_ = now;
  // While the store is being opened, its caller gets the error instead.
  if (ready_reported_ && !std::exchange(outage_logged_, true)) {
    base::log(base::event::store_server_away, {{"store", where_.name}, {"why", why.text}});
  }
  // Another server of the list may be usable.
  const bool tried_all = mine.failures > 0 && mine.failures % where_.targets.size() == 0;
  if (!tried_all || !misconfigured(why)) return;
  auto refusal = to_error(why, where_.name, effect::none);
  // The cause is the server's, and may pass: a missing schema, right or database.
  if (why.sqlstate != newer_schema) refusal.code = errc::store_unreachable;
  say_ready(std::move(refusal));
}

/// At once if the connection was ready before, otherwise after a growing pause. Each server gets
/// its turn.
steady_time connection_pool::next_try(kept_connection& connection, steady_time now) {
  if (std::exchange(connection.was_ready, false)) return now;
  ++target_;
  ++connection.failures;
  const auto servers = static_cast<std::uint32_t>(where_.targets.size());
  if (connection.failures < servers) return now;
  const auto round = std::min(connection.failures / servers, 8u);
  const auto pause = std::min(backoff_first_ms << round, backoff_most_ms);
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  // Between half and all of the pause, so that processes don't come back all at once.
  return now + std::chrono::milliseconds(pause * (256 + random[0]) / 512);
}

/// When an outage lasts longer than any caller waits, new calls fail at once.
void connection_pool::note_outage(steady_time now) {
  if (!ready_reported_ && now >= opened_at_ + params_.timeout) {
    say_ready(last_failure_ ? to_error(*last_failure_, where_.name, effect::none)
                            : error(errc::store_unreachable,
                                    where_.name + ": no connection within the timeout"));
  }
  if (!out_since_ || any_ready() || now - *out_since_ < params_.timeout) return;
  if (!dispatcher_.waiting()) return;
  auto why = last_failure_ ? to_error(*last_failure_, where_.name, effect::none)
                           : error(errc::store_unreachable, where_.name + ": out of reach");
  // The cause may pass, even a schema that was dropped or a password that was changed.
  why.code = errc::store_unreachable;
  dispatcher_.fail_waiting(why);
}

void connection_pool::say_ready(std::optional<error> why) {
  if (!std::exchange(ready_reported_, true)) ready_.set_value(std::move(why));
}

// --- what connections report ------------------------------------------------------------------

void connection_pool::on_announcement(std::string_view payload) {
  std::vector<std::uint64_t> settled;
  for (; payload.size() >= announced_digits; payload.remove_prefix(announced_digits)) {
    std::array<unsigned char, announced_digits / 2> bytes{};
    if (!base::from_hex(payload.substr(0, announced_digits), bytes)) return;
    std::uint64_t prefix = 0;
    for (const auto byte : bytes) prefix = prefix << 8 | byte;
    settled.push_back(prefix);
  }
  const std::lock_guard lock(listening_);
  if (reported_) reported_(settled);
}

void connection_pool::on_warning(std::string_view text) {
  base::log(base::event::commit_not_replicated,
            {{"store", where_.name}, {"why", std::string(text)}});
}

}  // namespace onceguard::postgres
