#include "store/redis/pool.hpp"

#include <algorithm>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/hash.hpp"
#include "base/log.hpp"

namespace onceguard::redis {
namespace {

constexpr std::chrono::milliseconds pace{20};  // of looks at what waits for a lost link
constexpr std::int64_t backoff_first_ms = 50;
constexpr std::int64_t backoff_most_ms = 2'000;

}  // namespace

pool::pool(redis_params params, address at, std::optional<boost::asio::ssl::context> tls)
    : params_(std::move(params)),
      at_(std::move(at)),
      names_(at_.prefix),
      tls_(std::move(tls)),
      queue_(std::make_shared<batch_queue>(
          [this] { boost::asio::post(context_, [this] { turn(); }); })),
      timer_(context_) {
  const link_surroundings shared{context_, *this, params_, at_, names_, tls_ ? &*tls_ : nullptr};
  const auto count = at_.connections.value_or(std::clamp<std::size_t>(params_.connections, 1, 64));
  for (std::size_t i = 0; i < count; ++i) {
    links_.emplace_back().on = std::make_unique<link>(shared);
    links_.back().out_since = opened_at_;
  }
  thread_ = std::thread([this] { run(); });
}

std::optional<error> pool::wait_until_ready() { return is_ready_.get(); }

void pool::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

// --- the thread -----------------------------------------------------------------------------

void pool::run() {
  auto keep = std::make_optional(boost::asio::make_work_guard(context_));
  turn();
  context_.run();  // until everything accepted has ended and the queue is closed
  for (auto& each : links_) each.on->close(own_failure("the store was stopped"));
  timer_.cancel();
  keep.reset();
  context_.restart();
  context_.run();
}

/// Everything that may have to be done next, in the order in which one leads to the other.
void pool::turn() {
  if (closing_) return;
  const auto now = base::steady_now();
  const bool closed = queue_->closed();
  while (queue_->poll(calls_)) accept();
  open_links(now);
  judge_outage(now);
  hand_out(now);
  if (closed) {
    const error why(errc::stopped, "the store was stopped while out of reach");
    for (auto& each : links_) {
      if (!each.on->ready()) fail_waiting(each, why);
    }
  }
  deliver_all(finished_);
  if (closed && idle()) {
    closing_ = true;
    say_ready(error(errc::stopped, "the store was stopped"));
    return context_.stop();
  }
  wait_for_next_turn(now);
}

void pool::soon() {
  if (std::exchange(turn_posted_, true)) return;
  boost::asio::post(context_, [this] {
    turn_posted_ = false;
    turn();
  });
}

bool pool::idle() const noexcept { return under_way_ == 0; }

void pool::accept() {
  for (const auto& one : calls_) {
    auto whole = std::static_pointer_cast<job>(one);
    if (whole->size() == 0) finished_.push_back(one);
    for (std::size_t i = 0; i < whole->size(); ++i) {
      entry part{whole, &whole->part(i)};
      ++under_way_;
      if (const auto wrong = part.what->complaint()) {
        end(part, *wrong);
        continue;
      }
      const auto* id = part.what->about();
      const std::size_t at = id != nullptr ? id->front() : next_link_++;
      links_[at % links_.size()].waiting.push_back(std::move(part));
    }
  }
  calls_.clear();
}

/// Without a reply.
void pool::end(const entry& one, const error& why) {
  auto mine = why;
  if (one.what->doubtful) mine.effect = effect::unknown;
  // Taken first, so that the caller's own end is not crossed.
  if (one.of->take()) one.what->fail(mine);
  on_ended(one);
}

void pool::hand_out(steady_time now) {
  for (auto& each : links_) {
    if (!each.on->ready()) {
      purge(each, now);
      continue;
    }
    for (auto room = each.on->room(); room > 0 && !each.waiting.empty(); --room) {
      auto next = std::move(each.waiting.front());
      each.waiting.pop_front();
      if (next.of->take()) {
        each.on->send(std::move(next));
      } else {
        on_ended(std::move(next));  // its caller has given up
      }
    }
    each.on->flush();
  }
}

/// Those whose callers wait no longer.
void pool::purge(kept_link& of, steady_time now) {
  const error why(errc::store_unreachable, at_.place + ": no answer within the timeout");
  std::erase_if(of.waiting, [&](const entry& one) {
    const bool over = one.of->give_up_at() <= now || one.of->dropped();
    if (over) end(one, why);
    return over;
  });
}

void pool::fail_waiting(kept_link& of, const error& why) {
  for (const auto& one : std::exchange(of.waiting, {})) end(one, why);
}

void pool::wait_for_next_turn(steady_time now) {
  auto at = steady_time::max();
  if (!said_ready_) at = opened_at_ + params_.timeout;
  for (const auto& each : links_) {
    if (each.on->closed()) at = std::min(at, each.open_at);
    if (!each.on->ready() && !each.waiting.empty()) at = std::min(at, now + pace);
  }
  if (timer_at_ <= at) return;
  timer_at_ = at;
  timer_.expires_at(at);
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (ec) return;
    timer_at_ = steady_time::max();
    turn();
  });
}

// --- links ----------------------------------------------------------------------------------

pool::kept_link& pool::kept(const link& of) {
  return *std::find_if(links_.begin(), links_.end(),
                       [&](const auto& each) { return each.on.get() == &of; });
}

void pool::open_links(steady_time now) {
  for (auto& each : links_) {
    if (!each.on->closed() || each.open_at > now) continue;
    each.open_at = steady_time::max();
    each.on->open();
  }
}

void pool::on_ready(link& of) {
  auto& mine = kept(of);
  mine.was_ready = true;
  mine.failures = 0;
  mine.out_since.reset();
  last_failure_.reset();
  say_ready(std::nullopt);
  if (std::exchange(out_told_, false)) {
    base::log(base::log_level::info, "the store is in reach again", {{"store", at_.place}});
  }
  const auto now = base::steady_now();
  for (auto& each : links_) {
    if (each.on->closed()) each.open_at = now;
  }
  soon();
}

void pool::on_lost(link& of, const failure& why) {
  if (closing_) return;
  const auto now = base::steady_now();
  auto& mine = kept(of);
  mine.open_at = next_try(mine, now);
  if (!mine.out_since) mine.out_since = now;
  last_failure_ = why;
  soon();
  const bool any =
      std::any_of(links_.begin(), links_.end(), [](const auto& each) { return each.on->ready(); });
  if (any) return;
  // While it is being opened, the caller is told.
  if (!said_ready_) {
    if (why.misconfigured) say_ready(to_error(why, at_.place, effect::none));
  } else if (!std::exchange(out_told_, true)) {
    base::log(base::log_level::warning, "the store is out of reach",
              {{"store", at_.place}, {"why", why.text}});
  }
}

/// At once where it was ready before, else with a growing pause.
steady_time pool::next_try(kept_link& of, steady_time now) {
  if (std::exchange(of.was_ready, false)) return now;
  const auto round = std::min(of.failures++, 8u);
  const auto pause = std::min(backoff_first_ms << round, backoff_most_ms);
  std::array<unsigned char, 1> random{};
  base::random_bytes(random);
  // Between half and the whole of it, so that processes don't come back all at once.
  return now + std::chrono::milliseconds(pause * (256 + random[0]) / 512);
}

/// Once it lasts longer than anybody would wait, what comes is answered at once.
void pool::judge_outage(steady_time now) {
  auto why = last_failure_ ? to_error(*last_failure_, at_.place, effect::none)
                           : error(errc::store_unreachable, at_.place + ": no connection");
  if (!said_ready_ && now >= opened_at_ + params_.timeout) say_ready(why);
  // Whatever it is (a password that was changed): it may come back.
  why.code = errc::store_unreachable;
  for (auto& each : links_) {
    if (each.out_since && now - *each.out_since >= params_.timeout) fail_waiting(each, why);
  }
}

void pool::say_ready(std::optional<error> why) {
  if (!std::exchange(said_ready_, true)) ready_.set_value(std::move(why));
}

// --- what links tell ------------------------------------------------------------------------

void pool::on_greeting(const greeting& said) {
  if (said.lost) {
    base::log(base::log_level::error, "the server has lost a part of what it acknowledged",
              {{"store", at_.place}});
  }
  known_ = {said.identity, said.facts.run,
            said.identity == known_.identity ? std::max(known_.generation, said.generation)
                                             : said.generation};
  look_at_clock(said.now);
  tell_what_a_restart_loses(said.facts);
}

void pool::tell_what_a_restart_loses(const server_facts& facts) {
  durable_ = keeps_everything(facts);
  const std::string loss(lost_by_restart(facts));
  if (loss == std::exchange(told_loss_, loss)) return;
  base::log(keeps_everything(facts) ? base::log_level::info : base::log_level::warning,
            "what a restart of the server would lose",
            {{"store", at_.place}, {"loss", loss}, {"version", facts.version}});
  if (facts.eviction.empty()) {
    base::log(base::log_level::warning,
              "the server does not tell its maxmemory-policy; it must be noeviction",
              {{"store", at_.place}});
  }
}

void pool::on_generation(std::uint64_t generation) {
  known_.generation = std::max(known_.generation, generation);
}

void pool::on_ended(entry ended) {
  --under_way_;
  if (ended.of->ended_one()) finished_.push_back(std::move(ended.of));
}

void pool::on_returned(link& of, entry back, const failure& why) {
  const bool late = back.of->give_up_at() <= base::steady_now();
  if (late || (back.what->doubtful && !back.what->repeatable())) {
    auto told = why;
    told.misconfigured = false;
    return end(back, to_error(told, at_.place, effect::none));
  }
  kept(of).waiting.push_front(std::move(back));
}

void pool::on_progress(link&) { turn(); }

/// Expiry follows the server's clock whatever is found here: a step is only told.
void pool::look_at_clock(std::int64_t server_now) {
  const auto boot = params_.clock->boot_ms();
  if (!wall_) wall_.emplace(wall_memory{.offset = server_now - boot});
  const bool doubted = !wall_->trusts(boot, server_now);
  if (doubted && !clock_doubted_) {
    base::log(base::log_level::error,
              "the server's clock stepped: leases and retention end that much off",
              {{"store", at_.place}});
  }
  clock_doubted_ = doubted;
}

}  // namespace onceguard::redis
