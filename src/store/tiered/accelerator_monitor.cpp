#include "store/tiered/accelerator_monitor.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/random.hpp"

namespace onceguard::tiered {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr milliseconds poll_timeout{1'000};
constexpr milliseconds note_again{10'000};
constexpr int polls_in_a_row = 16;
constexpr std::size_t removed_at_once = 256;

// The beacon is a record in the accelerator. From its end and from the retention that is left, the
// accelerator's clock is computed.
constexpr milliseconds beacon_retention{30LL * 24 * 3'600'000};

record_id beacon_id() { return base::sha256_of("onceguard: by this the clock is told"); }

// Clocks drift, and the two clocks are not read at the same moment.
constexpr std::int64_t step_least_ms = 5'000;

subject_ptr beacon_subject() {
  auto out = std::make_shared<subject>();
  out->print.method = "none";
  return out;
}

}  // namespace

std::optional<std::string_view> reason_for_distrust(const findings& now,
                                                    const std::optional<findings>& before) {
  if (before && before->truth.origin == now.truth.origin &&
      now.truth.generation < before->truth.generation) {
    return "the store is an older copy of itself";
  }
  const auto& noted = now.truth.noted;
  const bool same = before && before->accelerator.identity == now.accelerator.identity;
  const bool older = (noted && now.accelerator.generation < noted->generation) ||
                     (same && now.accelerator.generation < before->accelerator.generation);
  if (older) return "the accelerator is an older copy of itself";
  const auto back_from = [&](const accelerator_state& earlier) {
    return now.accelerator.clock_ahead < earlier.clock_ahead - step_least_ms;
  };
  if ((noted && back_from(*noted)) || (same && back_from(before->accelerator))) {
    return "the accelerator's clock went back: what it keeps would outlive its retention";
  }
  return std::nullopt;
}

accelerator_monitor::accelerator_monitor(epoch_metadata& metadata, accelerator_factory open,
                                         circuit_breaker& breaker, marker_table& markers,
                                         tiered_counters& counters, const tiered_params& params)
    : metadata_(metadata),
      factory_(std::move(open)),
      breaker_(breaker),
      markers_(markers),
      counters_(counters),
      params_(params) {
  asio::co_spawn(context_, run(), [this](std::exception_ptr failed) {
    report_first_poll();
    if (!failed) return;
    try {
      std::rethrow_exception(failed);
    } catch (const std::exception& e) {
      breaker_.distrust_now();
      base::log(base::event::accelerator_poll_ended, {{"why", e.what()}});
    }
  });
  if (params_.run_monitor) {
    params_.run_monitor(context_);
  } else {
    thread_ = std::thread([this] { context_.run(); });
  }
}

void accelerator_monitor::poll_now() {
  asio::post(context_, [this] {
    poll_requested_ = true;
    timer_.cancel();
  });
}

void accelerator_monitor::stop() {
  stopping_ = true;
  poll_now();
  if (thread_.joinable()) thread_.join();
  if (accelerator_) accelerator_->stop();
}

// --- the thread -----------------------------------------------------------------------------

awaitable<void> accelerator_monitor::run() {
  while (!stopping_) {
    if (!accelerator_) try_to_open();
    auto then = next_step::wait;
    for (int i = 0; accelerator_ && i < polls_in_a_row && !stopping_; ++i) {
      then = co_await poll();
      if (then == next_step::wait) break;
    }
    report_first_poll();
    co_await wait_for_next_poll();
  }
}

void accelerator_monitor::report_first_poll() {
  if (std::exchange(first_poll_reported_, true)) return;
  const bool wrong = open_error_ && open_error_->code == errc::invalid_argument;
  first_poll_.set_value(wrong ? std::exchange(open_error_, std::nullopt) : std::nullopt);
}

awaitable<void> accelerator_monitor::wait_for_next_poll() {
  if (!std::exchange(poll_requested_, false) && !stopping_) {
    timer_.expires_after(params_.interval);
    boost::system::error_code cancelled;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    poll_requested_ = false;
  }
}

void accelerator_monitor::try_to_open() {
  auto made = factory_();
  if (!made) {
    open_error_ = made.error();
    return log_once(made.error());
  }
  accelerator_ = std::move(*made);
  open_ = accelerator_.get();
  if (std::exchange(open_error_, std::nullopt)) {
    base::log(base::event::accelerator_opened);
  }
}

/// An error that repeats with each poll is logged once.
void accelerator_monitor::log_once(const error& why) {
  if (std::exchange(last_logged_, why.detail) == why.detail) return;
  base::log(base::event::accelerator_unusable, {{"why", why.detail}});
}

// --- one poll -------------------------------------------------------------------------------

awaitable<accelerator_monitor::next_step> accelerator_monitor::poll() {
  const auto ticket = breaker_.ticket();
  const auto begun = base::boot_now();
  // The noted state is read first, so that the accelerator's own state is the later one.
  auto truth = co_await metadata_.read_epoch(identity_, poll_timeout);
  const auto reply = co_await accelerator_->vitals(params_.accelerator_timeout);
  if (!reply) {
    breaker_.call_failed(reply.error().detail, base::boot_now());
    co_return next_step::wait;
  }
  breaker_.poll_succeeded(base::boot_now());
  if (is_another(*reply)) co_return next_step::poll;
  if (!truth) {
    breaker_.accelerator_answered(ticket, begun);
    co_return next_step::wait;
  }
  const auto beacon = co_await accelerator_->find(beacon_id(), params_.accelerator_timeout);
  if (!beacon) {
    log_once(beacon.error());
    co_return next_step::wait;
  }
  if (!*beacon || (*beacon)->state != observed_state::completed) co_return co_await make_beacon();
  findings found;
  found.truth = std::move(*truth);
  found.accelerator.identity = identity_;
  found.accelerator.generation = reply->generation;
  const auto& seen = **beacon;
  const auto clock = seen.stored.expires_at_wall - seen.retention_left.count();
  found.accelerator.clock_ahead = clock - found.truth.now;
  // Clocks that were read too far apart can't be compared.
  if (found.truth.noted && base::boot_now() - begun > poll_timeout) {
    found.accelerator.clock_ahead = found.truth.noted->clock_ahead;
  }
  last_logged_.clear();
  co_return co_await compare(ticket, std::move(found), begun);
}

/// Whether this is another accelerator than at the last poll: its noted state must be read anew
/// then. An accelerator that went back is distrusted at once; compare() ends the epoch when the
/// truth answers.
bool accelerator_monitor::is_another(const vitals& vitals) {
  const bool other = vitals.identity != std::exchange(identity_, vitals.identity);
  const bool older = before_ && before_->accelerator.identity == vitals.identity &&
                     vitals.generation < before_->accelerator.generation;
  if (other || older) breaker_.distrust_now();
  return other;
}

awaitable<accelerator_monitor::next_step> accelerator_monitor::make_beacon() {
  claim request;
  request.id = beacon_id();
  base::random_bytes(request.claim_id);
  request.about = beacon_subject();
  request.lease = poll_timeout;
  request.unknown = unknown_policy::rerun;
  std::vector<claim> claims(1, request);
  const auto verdict = co_await accelerator_->claim(std::move(claims), poll_timeout);
  if (!verdict[0] || verdict[0]->kind != verdict_kind::run) co_return next_step::wait;
  settle_terms terms;
  terms.kept = answer_kept::none;
  terms.retention = beacon_retention;
  std::vector<settlement> settles(
      1, settle_lease(request.id, verdict[0]->lease, request.about, std::move(terms)));
  const auto done = co_await accelerator_->settle(std::move(settles), poll_timeout);
  co_return done[0] ? next_step::poll : next_step::wait;
}

awaitable<accelerator_monitor::next_step> accelerator_monitor::compare(std::uint64_t ticket,
                                                                       findings found,
                                                                       time_point asked_at) {
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
  // What is removed from the slots of a former epoch may still stand in those of the present one.
  if (!breaker_.both_answered(ticket, epoch, found.truth.forgotten, asked_at)) {
    co_return next_step::poll;
  }
  co_return co_await remove_leftovers(epoch);
}

awaitable<accelerator_monitor::next_step> accelerator_monitor::end_epoch(findings found,
                                                                         std::string_view why) {
  breaker_.distrust_now();
  const auto ended = co_await metadata_.note(found.accelerator, found.truth.epoch, poll_timeout);
  if (!ended) co_return next_step::wait;
  before_ = std::move(found);
  if (*ended) {
    counters_.epochs.fetch_add(1, std::memory_order_relaxed);
    base::log(base::event::epoch_ended, {{"why", std::string(why)}});
  }
  co_return next_step::poll;
}

// --- removing what calls have left behind
// ------------------------------------------------------------

awaitable<accelerator_monitor::next_step> accelerator_monitor::remove_leftovers(digest epoch) {
  const trusted_epoch present{epoch};
  const auto ended = markers_.records_to_clear(removed_at_once);
  for (const auto& each : ended) {
    const auto slot = present.slot_of(each.id);
    if (!co_await forget(slot)) co_return next_step::wait;
    markers_.record_cleared(each);
  }
  const auto left = markers_.leftovers(removed_at_once);
  for (const auto& each : left) {
    if (!co_await remove(each)) co_return next_step::wait;
    markers_.leftover_removed(each);
  }
  co_return markers_.removals_waiting() > 0 ? next_step::poll : next_step::wait;
}

/// False: the accelerator did not answer, and the removal must be repeated.
awaitable<bool> accelerator_monitor::remove(leftover leftover) {
  if (!leftover.claim_id) co_return co_await forget(leftover.id);
  std::vector<settlement> batch(1, release_marker(leftover.id, leftover.about, *leftover.claim_id));
  const auto reply = co_await accelerator_->settle(std::move(batch), poll_timeout);
  if (!reply[0]) co_return !reply[0].error().retryable();
  // A copy arrived there late after all, with more retention than is left.
  if (reply[0]->state == observed_state::completed) co_return co_await forget(leftover.id);
  co_return true;
}

awaitable<bool> accelerator_monitor::forget(record_id slot_id) {
  resolution request;
  request.id = slot_id;
  request.force = true;
  const auto done = co_await accelerator_->resolve(request, poll_timeout);
  co_return done || !done.error().retryable();
}

}  // namespace onceguard::tiered
