#include "store/redis/pool/pool.hpp"

#include <algorithm>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/log.hpp"

namespace onceguard::redis {
namespace {

constexpr std::chrono::milliseconds pace{20};  // between two examinations of waiting requests

/// The more requests share a connection, the less each costs. But WAIT delays the requests behind
/// it.
std::size_t default_connections(const address& address) { return address.min_replicas > 0 ? 2 : 1; }

}  // namespace

pool::pool(redis_params params, address server, std::optional<boost::asio::ssl::context> tls)
    : params_(std::move(params)),
      at_(std::move(server)),
      names_(at_.prefix, at_.servers == deployment::cluster),
      pipelines_each_(at_.connections.value_or(default_connections(at_))),
      tls_(std::move(tls)),
      connections_made_{context_, at_, tls_ ? &*tls_ : nullptr},
      queue_(std::make_shared<batch_queue>(
          [this] { boost::asio::post(context_, [this] { turn(); }); })),
      timer_(context_),
      queues_(names_.cut() ? names_.parts() : pipelines_each_),
      topology_(make_topology(connections_made_, names_, params_, *this)),
      known_(names_.parts()) {
  for (auto& each : queues_) each.nowhere_since = opened_at_;
  thread_ = std::thread([this] { run(); });
}

std::optional<error> pool::wait_until_ready() { return is_ready_.get(); }

void pool::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

std::vector<server_pin> pool::servers() const {
  const std::lock_guard lock(shared_);
  return published_;
}

// --- the thread -----------------------------------------------------------------------------

void pool::run() {
  auto keep = std::make_optional(boost::asio::make_work_guard(context_));
  topology_->begin();
  turn();
  context_.run();  // until everything accepted has ended and the queue is closed
  topology_->close();
  for (auto& each : servers_) each.close(connection_failure("the store was stopped"));
  timer_.cancel();
  keep.reset();
  context_.restart();
  context_.run();
}

/// All that may have to be done next, in the order in which one step leads to the next.
void pool::turn() {
  if (closing_) return;
  const auto now = base::boot_now();
  const bool closed = queue_->closed();
  while (queue_->poll(calls_)) accept();
  drop_servers(now);
  auto next = steady_time::max();
  for (auto& each : servers_) next = std::min(next, each.open_pipelines(now));
  note_outage(now);
  hand_out(now);
  if (closed) refuse_what_is_out_of_reach();
  deliver_all(finished_);
  if (closed && under_way_ == 0) {
    closing_ = true;
    say_ready(error(errc::stopped, "the store was stopped"));
    return context_.stop();
  }
  wait_for_next_turn(now, next);
}

void pool::soon() {
  if (std::exchange(turn_posted_, true)) return;
  boost::asio::post(context_, [this] {
    turn_posted_ = false;
    turn();
  });
}

void pool::accept() {
  for (const auto& one : calls_) {
    auto whole = std::static_pointer_cast<job>(one);
    if (whole->parts.empty()) finished_.push_back(one);
    for (std::size_t i = 0; i < whole->parts.size(); ++i) {
      ++under_way_;
      accept({.of = whole, .what = &whole->parts[i], .number = ++accepted_});
    }
  }
  calls_.clear();
}

void pool::accept(entry part) {
  const auto& request = *part.what;
  if (const auto& pin = request.pin) {
    if (auto* target = find_server(pin->at)) return target->named().push_back(std::move(part));
    return end(part, error(errc::store_unreachable,
                           at_.name + ": " + pin->at.text() + " has no part of the store now"));
  }
  const std::size_t number = request.about ? request.about->front() : next_queue_++;
  part.request_queue = static_cast<std::uint16_t>(number % queues_.size());
  queues_.add(std::move(part));
}

/// Ends a request without a reply.
void pool::end(const entry& one, const error& why) {
  auto mine = why;
  if (one.what->doubtful) mine.effect = effect::unknown;
  // take() comes first, because the caller may give up at the same moment.
  if (one.of->take()) one.what->fail(mine);
  finish(one);
}

void pool::finish(entry ended) {
  --under_way_;
  if (ended.of->ended_one()) finished_.push_back(std::move(ended.of));
}

// --- handing out ----------------------------------------------------------------------------

void pool::hand_out(steady_time now) {
  // Before the queues: redirected requests came before the waiting ones.
  for (auto& each : servers_) hand_out_named(each, now);
  queues_.each_waiting([&](std::size_t i, request_queue& one) { send_queued(i, one, now); });
  for (auto& each : servers_) each.flush();
}

void pool::send_queued(std::size_t i, request_queue& queue, steady_time now) {
  auto* const by = queue.at != nullptr ? queue.at->pipeline_for(i, topology_->vouched()) : nullptr;
  if (by == nullptr) return purge(queue.waiting, now);
  // Requests in flight on another connection come first.
  if (queue.paused_until > now || (queue.under_way > 0 && queue.by != by))
    return purge(queue.waiting, now);
  for (auto room = by->room(); room > 0 && !queue.waiting.empty(); --room) {
    auto next = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    next.queued = true;
    if (!send(*by, std::move(next), false)) continue;
    queue.by = by;
    ++queue.under_way;
  }
}

void pool::hand_out_named(server& server, steady_time now) {
  auto& waiting = server.named();
  if (waiting.empty()) return;
  server.use(now);
  purge(waiting, now);
  for (auto left = waiting.size(); left > 0; --left) {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    auto* const by = server.pipeline_for(next.request_queue, topology_->vouched());
    if (by == nullptr || by->room() == 0) {
      waiting.push_back(std::move(next));
      continue;
    }
    const auto& pin = next.what->pin;
    if (pin && *pin != server.pin()) {
      end(next, error(errc::store_unreachable, at_.name + ": the server is not the same any more"));
      continue;
    }
    next.queued = false;
    const bool asks_for_itself = pin.has_value();
    send(*by, std::move(next), !asks_for_itself);
  }
}

/// False: the caller has given up, or the request is a claim and the memory is not known yet.
bool pool::send(pipeline& pipeline, entry next, bool asking) {
  if (next.what->grants && !memory_.known()) {
    end(next, error(errc::store_lost, at_.name + ": its data is not what it was"));
    return false;
  }
  if (!next.of->take()) {
    finish(std::move(next));
    return false;
  }
  pipeline.send(std::move(next), asking);
  return true;
}

/// Ends the requests whose callers have given up.
void pool::purge(std::deque<entry>& waiting, steady_time now) {
  const error why(errc::store_unreachable, at_.name + ": no answer within the timeout");
  std::erase_if(waiting, [&](const entry& one) {
    const bool over = one.of->give_up_at <= now || one.of->dropped();
    if (over) end(one, why);
    return over;
  });
}

void pool::fail_all(std::deque<entry>& waiting, const error& why) {
  for (const auto& one : std::exchange(waiting, {})) end(one, why);
}

void pool::wait_for_next_turn(steady_time now, steady_time time) {
  if (!ready_reported_) time = std::min(time, opened_at_ + params_.timeout);
  queues_.each_waiting(
      [&](std::size_t, const request_queue&) { time = std::min(time, now + pace); });
  for (auto& each : servers_) {
    if (!each.named().empty()) time = std::min(time, now + pace);
  }
  if (timer_at_ <= time) return;
  timer_at_ = time;
  timer_.expires_after(time - base::boot_now());
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    timer_at_ = steady_time::max();
    turn();
  });
}

// --- what is out of reach -------------------------------------------------------------------

error pool::unreachable(const std::optional<failure>& why) const {
  return why ? to_error(*why, at_.name, effect::none)
             : error(errc::store_unreachable, at_.name + ": no connection");
}

/// When an outage lasts longer than any caller waits, new requests fail at once.
void pool::note_outage(steady_time now) {
  check_beginning(now);
  queues_.each_waiting([&](std::size_t i, request_queue& one) {
    const auto since = one.at != nullptr ? one.at->out_since(i) : one.nowhere_since;
    if (!since || now - *since < params_.timeout) return;
    auto why = unreachable(one.at != nullptr ? one.at->last_failure() : lost_why_);
    // The cause may pass, even a password that was changed.
    if (why.code != errc::store_full) why.code = errc::store_unreachable;
    fail_all(one.waiting, why);
  });
}

/// The store is ready when all servers are in reach, or at the timeout when some are.
void pool::check_beginning(steady_time now) {
  if (ready_reported_) return;
  const auto vouched = topology_->vouched();
  std::size_t usable = 0;
  std::size_t wanted = 0;
  std::optional<failure> why = lost_why_;
  for (const auto& each : servers_) {
    if (each.retired()) continue;
    ++wanted;
    if (each.usable(vouched)) ++usable;
    if (each.last_failure()) why = each.last_failure();
  }
  const bool nowhere = std::any_of(queues_.begin(), queues_.end(),
                                   [](const request_queue& each) { return each.at == nullptr; });
  const bool over = now >= opened_at_ + params_.timeout;
  if (usable > 0 && (over || (usable == wanted && !nowhere))) return say_ready(std::nullopt);
  if (over || (why && why->misconfigured && usable == 0)) say_ready(unreachable(why));
}

void pool::say_ready(std::optional<error> why) {
  if (!std::exchange(ready_reported_, true)) ready_.set_value(std::move(why));
}

/// The store is closing: no request waits for a connection any more.
void pool::refuse_what_is_out_of_reach() {
  const error why(errc::stopped, "the store was stopped while out of reach");
  const auto vouched = topology_->vouched();
  queues_.each_waiting([&](std::size_t i, request_queue& one) {
    if (one.at == nullptr || one.at->pipeline_for(i, vouched) == nullptr)
      fail_all(one.waiting, why);
  });
  for (auto& each : servers_) {
    if (!each.usable(vouched)) fail_all(each.named(), why);
  }
}

}  // namespace onceguard::redis
