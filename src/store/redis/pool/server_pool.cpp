#include "store/redis/pool/server_pool.hpp"

#include <algorithm>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/log.hpp"
#include "store/redis/topology/cluster_text.hpp"

namespace onceguard::redis {
namespace {

/// Between two examinations of waiting requests, and before what can't be done now is tried again.
constexpr std::chrono::milliseconds pace{20};
constexpr std::uint32_t redirections_max = 5;  // in a row, without a pause

}  // namespace

server_pool::server_pool(redis_params params, address server,
                         std::optional<boost::asio::ssl::context> tls)
    : params_(std::move(params)),
      address_(std::move(server)),
      names_(address_.prefix, address_.servers == deployment::cluster),
      tls_(std::move(tls)),
      known_(address_, params_, names_.parts()),
      shared_{{context_, address_, tls_ ? &*tls_ : nullptr}, *this, known_, params_, names_},
      queue_(std::make_shared<batch_queue>(
          [this] { boost::asio::post(context_, [this] { turn(); }); })),
      timer_(context_),
      queues_(names_.parts()),
      servers_(shared_, queues_),
      topology_(make_topology(shared_.connections, names_, params_, *this)) {
  thread_ = std::thread([this] { run(); });
}

void server_pool::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

// --- the thread -----------------------------------------------------------------------------

void server_pool::run() {
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

void server_pool::enter(phase next) {
  const auto former = std::exchange(phase_, next);
  switch (next) {
    case phase::opening:
    case phase::away:
      return;
    case phase::serving:
      if (former == phase::opening) ready_.set_value(std::nullopt);
      return;
    case phase::failed:
      return ready_.set_value(failed_);
    case phase::stopped:
      if (former == phase::opening) {
        ready_.set_value(error(errc::stopped, "the store was stopped"));
      }
      return context_.stop();
  }
}

/// All that may have to be done next, in the order in which one step leads to the next.
void server_pool::turn() {
  if (phase_ == phase::stopped) return;
  const auto now = base::boot_now();
  const bool closed = queue_->closed();
  while (queue_->poll(calls_)) accept();
  servers_.drop(now);
  auto next = steady_time::max();
  for (auto& each : servers_) next = std::min(next, each.open_when_due(now));
  note_outage(now);
  hand_out(now);
  if (closed) refuse_what_is_out_of_reach();
  deliver_all(finished_);
  if (closed && under_way_ == 0) return enter(phase::stopped);
  wait_for_next_turn(now, next);
}

void server_pool::soon() {
  if (std::exchange(turn_posted_, true)) return;
  boost::asio::post(context_, [this] {
    turn_posted_ = false;
    turn();
  });
}

void server_pool::accept() {
  for (const auto& one : calls_) {
    auto whole = std::static_pointer_cast<job>(one);
    if (whole->parts.empty()) finished_.push_back(one);
    for (auto& part : whole->parts) {
      ++under_way_;
      accept({.job = whole, .request = &part, .number = ++accepted_});
    }
  }
  calls_.clear();
}

void server_pool::accept(entry part) {
  const auto& request = *part.request;
  if (const auto& pin = request.pin) {
    if (auto* target = servers_.find(pin->endpoint))
      return target->named().push_back(std::move(part));
    return end(part, error(errc::store_unreachable, address_.name + ": " + pin->endpoint.text() +
                                                        " has no part of the store now"));
  }
  part.part = static_cast<std::uint16_t>(names_.part_of(*request.about));
  queues_.add(std::move(part));
}

/// Ends a request without a reply.
void server_pool::end(const entry& one, const error& why) {
  auto mine = why;
  if (one.request->doubtful) mine.effect = effect::unknown;
  // take() comes first, because the caller may give up at the same moment.
  if (one.job->take()) one.request->fail(mine);
  finish(one);
}

void server_pool::finish(entry ended) {
  --under_way_;
  if (ended.job->ended_one()) finished_.push_back(std::move(ended.job));
}

void server_pool::wait_for_next_turn(steady_time now, steady_time time) {
  if (phase_ == phase::opening) time = std::min(time, opened_at_ + params_.timeout);
  queues_.each_waiting([&](const request_queue&) { time = std::min(time, now + pace); });
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

// --- handing out ----------------------------------------------------------------------------

void server_pool::hand_out(steady_time now) {
  // Before the queues: redirected requests came before the waiting ones.
  for (auto& each : servers_) hand_out_named(each, now);
  queues_.each_waiting([&](request_queue& one) { send_queued(one, now); });
  for (auto& each : servers_) each.flush();
}

void server_pool::send_queued(request_queue& queue, steady_time now) {
  auto* const target = queue.target;
  const bool usable = target != nullptr && target->usable(topology_->vouched());
  // Requests in flight on another server come first.
  if (!usable || queue.paused_until > now || (queue.under_way > 0 && queue.carrier != target)) {
    return purge(queue.waiting, now);
  }
  for (auto room = target->room(); room > 0 && !queue.waiting.empty(); --room) {
    auto next = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    next.queued = true;
    if (!send(*target, std::move(next), false)) continue;
    queue.carrier = target;
    ++queue.under_way;
  }
}

void server_pool::hand_out_named(server& server, steady_time now) {
  auto& waiting = server.named();
  if (waiting.empty()) return;
  server.use(now);
  purge(waiting, now);
  if (!server.usable(topology_->vouched())) return;
  for (auto room = server.room(); room > 0 && !waiting.empty(); --room) {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    const auto& pin = next.request->pin;
    if (pin && *pin != server.pin()) {
      end(next,
          error(errc::store_unreachable, address_.name + ": the server is not the same any more"));
      continue;
    }
    next.queued = false;
    const bool asking = !pin;
    send(server, std::move(next), asking);
  }
}

/// False: the caller has given up, or the request is a claim and the memory is not known yet.
bool server_pool::send(server& server, entry next, bool asking) {
  if (next.request->grants && !memory().known()) {
    end(next, error(errc::store_lost, address_.name + ": its data is not what it was"));
    return false;
  }
  if (!next.job->take()) {
    finish(std::move(next));
    return false;
  }
  server.send(std::move(next), asking);
  return true;
}

/// Ends the requests whose callers have given up.
void server_pool::purge(std::deque<entry>& waiting, steady_time now) {
  const error why(errc::store_unreachable, address_.name + ": no answer within the timeout");
  std::erase_if(waiting, [&](const entry& one) {
    const bool over = one.job->give_up_at <= now || one.job->dropped();
    if (over) end(one, why);
    return over;
  });
}

void server_pool::fail_all(std::deque<entry>& waiting, const error& why) {
  for (const auto& one : std::exchange(waiting, {})) end(one, why);
}

// --- what is out of reach -------------------------------------------------------------------

error server_pool::unreachable(const std::optional<failure>& why) const {
  return why ? to_error(*why, address_.name, effect::none)
             : error(errc::store_unreachable, address_.name + ": no connection");
}

/// When an outage lasts longer than any caller waits, new requests fail at once.
void server_pool::note_outage(steady_time now) {
  if (phase_ == phase::opening) check_beginning(now);
  queues_.each_waiting([&](request_queue& one) {
    const auto since = one.target != nullptr ? one.target->out_since() : one.nowhere_since;
    if (!since || now - *since < params_.timeout) return;
    auto why = unreachable(one.target != nullptr ? one.target->last_failure() : lost_why_);
    // The cause may pass, even a password that was changed.
    if (why.code != errc::store_full) why.code = errc::store_unreachable;
    fail_all(one.waiting, why);
  });
}

/// The store is ready when all servers are in reach, or at the timeout when some are.
void server_pool::check_beginning(steady_time now) {
  std::size_t usable = 0;
  std::size_t wanted = 0;
  std::optional<failure> why = lost_why_;
  for (const auto& each : servers_) {
    if (each.retired()) continue;
    ++wanted;
    if (each.usable(topology_->vouched())) ++usable;
    if (each.last_failure()) why = each.last_failure();
  }
  const bool nowhere = std::any_of(queues_.begin(), queues_.end(), [](const request_queue& each) {
    return each.target == nullptr;
  });
  const bool over = now >= opened_at_ + params_.timeout;
  if (usable > 0 && (over || (usable == wanted && !nowhere))) return enter(phase::serving);
  if (!over && !(why && why->misconfigured && usable == 0)) return;
  failed_ = unreachable(why);
  // The cause is the server's, and may pass: a missing right, an eviction policy.
  failed_->code = errc::store_unreachable;
  enter(phase::failed);
}

/// The store is closing: no request waits for a connection any more.
void server_pool::refuse_what_is_out_of_reach() {
  const error why(errc::stopped, "the store was stopped while out of reach");
  const auto vouched = topology_->vouched();
  queues_.each_waiting([&](request_queue& one) {
    if (one.target == nullptr || !one.target->usable(vouched)) fail_all(one.waiting, why);
  });
  for (auto& each : servers_) {
    if (!each.usable(vouched)) fail_all(each.named(), why);
  }
}

void server_pool::refuse_server_of(std::size_t part, failure why) {
  boost::asio::post(context_, [this, part, why = std::move(why)] {
    if (auto* const refused = queues_[part].target) refused->close(why);
  });
}

// --- what servers and the topology report -----------------------------------------------------

void server_pool::on_layout(const layout& found) {
  lost_why_.reset();
  known_.masters = found.ids;
  servers_.assign(found);
  soon();
}

void server_pool::on_no_layout(const failure& why) {
  lost_why_ = why;
  soon();
}

void server_pool::note_names(std::vector<std::string> names) {
  boost::asio::post(context_, [this, names = std::move(names)] {
    for (std::size_t part = 0; part < names.size(); ++part) {
      if (!known_.rename(part, names[part])) continue;
      for (auto& each : servers_) each.rename(part, names[part]);
    }
  });
}

void server_pool::on_facts(const server_facts& facts) {
  servers_.publish();
  known_.log_loss_at_restart(facts);
}

void server_pool::on_up(server& server) {
  topology_->distrust();  // where somebody has to vouch for it
  if (phase_ == phase::away) {
    base::log(base::event::store_server_back,
              {{"store", address_.name}, {"server", server.at().text()}});
    enter(phase::serving);
  }
  soon();
}

void server_pool::on_down(server& server, const failure& why) {
  if (phase_ == phase::stopped) return;
  topology_->distrust();
  // Requests that were redirected to this server go back to the server that redirected them.
  for (auto& each : std::exchange(server.named(), {})) {
    if (each.request->pin) {
      server.named().push_back(std::move(each));
    } else {
      queues_.add(std::move(each));
    }
  }
  if (phase_ == phase::serving && !server.retired()) {
    base::log(base::event::store_server_away,
              {{"store", address_.name}, {"server", server.at().text()}, {"why", why.text}});
    enter(phase::away);
  }
  soon();
}

void server_pool::on_ended(entry ended) {
  auto& mine = queues_[ended.part];
  if (ended.queued) --mine.under_way;
  mine.turned_away = 0;
  finish(std::move(ended));
}

void server_pool::on_returned(server& server, entry back, const failure& why) {
  if (std::exchange(back.queued, false)) --queues_[back.part].under_way;
  const bool late = back.job->give_up_at <= base::boot_now();
  if (late || (back.request->doubtful && !back.request->repeatable)) {
    auto reply = why;
    reply.misconfigured = false;
    return end(back, to_error(reply, address_.name, effect::none));
  }
  if (back.request->pin) return server.named().push_back(std::move(back));
  queues_.add(std::move(back));
}

void server_pool::on_redirected(server& server, entry back, const failure& why) {
  const auto now = base::boot_now();
  const auto target = target_of(why, server.at());
  auto& mine = queues_[back.part];
  const bool in_circles = ++mine.turned_away > redirections_max;
  if (in_circles) mine.paused_until = now + pace;
  // Redis Cluster specification, ASK redirection: it holds for this request alone; only MOVED says
  // that the slot has another owner.
  if (why.code == "ASK" && target && !in_circles) {
    if (std::exchange(back.queued, false)) --mine.under_way;
    auto& there = servers_.at(*target);
    there.use(now);
    return there.named().push_back(std::move(back));
  }
  if (why.code == "MOVED" && target) {
    if (mine.target == &server) {
      auto& next = servers_.at(*target);
      mine.lead_to(&next);
      // The greeting for the part waits for the next layout, which also shows whether the former
      // node is still a master. Otherwise a failover would seem to be a moved slot.
      if (!next.leads()) next.hold(true, {});
      servers_.publish();
    }
  } else {
    mine.paused_until = now + pace;
  }
  topology_->distrust();
  on_returned(server, std::move(back), why);
}

}  // namespace onceguard::redis
