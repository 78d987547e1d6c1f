#include "store/tiered/watch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.hpp"

namespace onceguard::tiered {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr milliseconds poll_timeout{1'000};
constexpr milliseconds note_again{10'000};
constexpr int polls_in_a_row = 16;
constexpr std::size_t removed_at_once = 256;

// A record whose end is known: by it, and by what is left of it, a store tells its clock.
constexpr milliseconds beacon_retention{30LL * 24 * 3'600'000};

record_id beacon_id() { return base::sha256_of("onceguard: by this the clock is told"); }

subject_ptr beacon_subject() {
  auto out = std::make_shared<subject>();
  out->print.method = "none";
  return out;
}

}  // namespace

watch::watch(epoch_metadata& metadata, accelerator_factory open, circuit_breaker& known,
             marker_table& marks, tiered_counters& counters, const tiered_params& params)
    : metadata_(metadata),
      factory_(std::move(open)),
      known_(known),
      marks_(marks),
      counters_(counters),
      params_(params) {
  asio::co_spawn(context_, live(), [this](std::exception_ptr failed) {
    report_first_poll();
    if (!failed) return;
    try {
      std::rethrow_exception(failed);
    } catch (const std::exception& e) {
      known_.distrust_now();
      base::log(base::event::accelerator_poll_ended, {{"why", e.what()}});
    }
  });
  thread_ = std::thread([this] { context_.run(); });
}

void watch::poll_now() {
  asio::post(context_, [this] {
    poked_ = true;
    timer_.cancel();
  });
}

void watch::stop() {
  stopping_ = true;
  poll_now();
  if (thread_.joinable()) thread_.join();
  if (accelerator_) accelerator_->stop();
}

// --- the thread -----------------------------------------------------------------------------

awaitable<void> watch::live() {
  while (!stopping_) {
    if (!accelerator_) try_to_open();
    auto then = next::wait;
    for (int i = 0; accelerator_ && i < polls_in_a_row && !stopping_; ++i) {
      then = co_await poll();
      if (then == next::wait) break;
    }
    report_first_poll();
    co_await pause();
  }
}

void watch::report_first_poll() {
  if (std::exchange(has_polled_, true)) return;
  const bool wrong = why_not_open_ && why_not_open_->code == errc::invalid_argument;
  first_poll_.set_value(wrong ? std::exchange(why_not_open_, std::nullopt) : std::nullopt);
}

awaitable<void> watch::pause() {
  if (!std::exchange(poked_, false) && !stopping_) {
    timer_.expires_after(params_.interval);
    boost::system::error_code cancelled;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    poked_ = false;
  }
}

void watch::try_to_open() {
  auto made = factory_();
  if (!made) {
    why_not_open_ = made.error();
    return say_once(made.error());
  }
  accelerator_ = std::move(*made);
  open_ = accelerator_.get();
  if (std::exchange(why_not_open_, std::nullopt)) {
    base::log(base::event::accelerator_opened);
  }
}

/// What goes wrong each second is told when it begins to.
void watch::say_once(const error& why) {
  if (std::exchange(logged_, why.detail) == why.detail) return;
  base::log(base::event::accelerator_unusable, {{"why", why.detail}});
}

// --- one look -------------------------------------------------------------------------------

awaitable<watch::next> watch::poll() {
  const auto ticket = known_.ticket();
  const auto request = base::boot_now();
  // What was noted comes first: the accelerator's own word is the later one then.
  auto truth = co_await metadata_.read_epoch(identity_, poll_timeout);
  const auto reply = co_await accelerator_->vitals(params_.accelerator_timeout);
  if (!reply) {
    known_.failed(reply.error().detail, base::boot_now());
    co_return next::wait;
  }
  known_.probed(base::boot_now());
  if (is_another(*reply)) co_return next::poll;
  if (!truth) {
    known_.accelerator_answered(ticket, request);
    co_return next::wait;
  }
  const auto beacon = co_await accelerator_->find(beacon_id(), params_.accelerator_timeout);
  if (!beacon) {
    say_once(beacon.error());
    co_return next::wait;
  }
  if (!*beacon || (*beacon)->state != observed_state::completed) co_return co_await make_beacon();
  findings found;
  found.truth = std::move(*truth);
  found.accelerator.identity = identity_;
  found.accelerator.generation = reply->generation;
  const auto& seen = **beacon;
  const auto clock = seen.stored.expires_at_wall - seen.retention_left.count();
  found.accelerator.clock_ahead = clock - found.truth.now;
  // Read too far apart, the two clocks tell nothing about one another.
  if (found.truth.noted && base::boot_now() - request > poll_timeout) {
    found.accelerator.clock_ahead = found.truth.noted->clock_ahead;
  }
  logged_.clear();
  co_return co_await compare(ticket, std::move(found), request);
}

/// Then what was noted of it is to be asked for anew. One that went back is doubted at once, and
/// judged once the truth is heard.
bool watch::is_another(const vitals& vitals) {
  const bool other = vitals.identity != std::exchange(identity_, vitals.identity);
  const bool older = before_ && before_->accelerator.identity == vitals.identity &&
                     vitals.generation < before_->accelerator.generation;
  if (other || older) known_.distrust_now();
  return other;
}

awaitable<watch::next> watch::make_beacon() {
  claim request;
  request.id = beacon_id();
  base::random_bytes(request.claim_id);
  request.about = beacon_subject();
  request.lease = poll_timeout;
  request.unknown = unknown_policy::rerun;
  std::vector<claim> claims(1, request);
  const auto verdict = co_await accelerator_->claim(std::move(claims), poll_timeout);
  if (!verdict[0] || verdict[0]->kind != verdict_kind::run) co_return next::wait;
  settlement change;
  change.id = request.id;
  change.token = verdict[0]->lease.token;
  change.claim_id = request.claim_id;
  change.about = request.about;
  change.kept = answer_kept::none;
  change.retention = beacon_retention;
  std::vector<settlement> settles(1, change);
  const auto done = co_await accelerator_->settle(std::move(settles), poll_timeout);
  co_return done[0] ? next::poll : next::wait;
}

awaitable<watch::next> watch::compare(std::uint64_t ticket, findings found, time_point asked_at) {
  const auto distrust = reason_for_distrust(found, before_);
  if (distrust) co_return co_await end_epoch(std::move(found), *distrust);
  const auto& noted = found.truth.noted;
  const auto now = base::boot_now();
  if (!noted || (*noted != found.accelerator && now - noted_at_ > note_again)) {
    const auto done = co_await metadata_.note(found.accelerator, std::string(), poll_timeout);
    if (done) noted_at_ = now;
  }
  before_ = found;
  const auto epoch = epoch_in_use(found.truth, identity_);
  known_.both_answered(ticket, epoch, found.truth.forgotten, asked_at);
  co_return co_await remove_leftovers(epoch);
}

awaitable<watch::next> watch::end_epoch(findings found, std::string_view why) {
  known_.distrust_now();
  const auto ended = co_await metadata_.note(found.accelerator, found.truth.epoch, poll_timeout);
  if (!ended) co_return next::wait;
  before_ = std::move(found);
  if (*ended) {
    counters_.epochs.fetch_add(1, std::memory_order_relaxed);
    base::log(base::event::epoch_ended, {{"why", std::string(why)}});
  }
  co_return next::poll;
}

// --- what calls have left behind ------------------------------------------------------------

awaitable<watch::next> watch::remove_leftovers(digest epoch) {
  const trusted_epoch present{epoch};
  const auto ended = marks_.ended(removed_at_once);
  for (const auto& each : ended) {
    const auto slot = present.slot_of(each);
    if (!co_await forget(slot)) co_return next::wait;
    marks_.dropped(each);
  }
  const auto left = marks_.left(removed_at_once);
  for (const auto& each : left) {
    if (!co_await remove(each)) co_return next::wait;
    marks_.removed(each.id);
  }
  co_return marks_.left_count() > 0 ? next::poll : next::wait;
}

/// False: not yet.
awaitable<bool> watch::remove(leftover leftover) {
  if (!leftover.claim_id) co_return co_await forget(leftover.id);
  settlement request;
  request.id = leftover.id;
  request.about = leftover.about;
  request.claim_id = *leftover.claim_id;
  request.kind =
      settle_kind::release;  // by the claim id alone: the token may never have been heard
  std::vector<settlement> batch(1, request);
  const auto reply = co_await accelerator_->settle(std::move(batch), poll_timeout);
  if (!reply[0]) co_return !reply[0].error().retryable();
  // An answer that came there late after all, with too much retention.
  if (reply[0]->state == observed_state::completed) co_return co_await forget(leftover.id);
  co_return true;
}

awaitable<bool> watch::forget(record_id slot_id) {
  resolution request;
  request.id = slot_id;
  request.force = true;
  const auto done = co_await accelerator_->resolve(request, poll_timeout);
  co_return done || !done.error().retryable();
}

}  // namespace onceguard::tiered
