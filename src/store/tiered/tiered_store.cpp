#include "store/tiered/tiered_store.hpp"

#include <algorithm>

#include "store/tiered/claim_round.hpp"
#include "store/tiered/settle_round.hpp"

namespace onceguard::tiered {

using boost::asio::awaitable;

tiered_store::tiered_store(std::unique_ptr<store> truth, epoch_metadata& metadata,
                           accelerator_factory accelerator, const tiered_params& params)
    : truth_(std::move(truth)),
      params_(params),
      breaker_(counters_, params.replays_without_truth, params.trusted),
      monitor_(metadata, std::move(accelerator), breaker_, markers_, counters_, params) {}

result<std::unique_ptr<tiered_store>> tiered_store::open(std::unique_ptr<store> truth,
                                                         epoch_metadata& metadata,
                                                         accelerator_factory accelerator,
                                                         const tiered_params& params) {
  std::unique_ptr<tiered_store> made(
      new tiered_store(std::move(truth), metadata, std::move(accelerator), params));
  if (params.run_monitor) return made;
  if (auto why = made->monitor_.first_poll()) return std::move(*why);
  return made;
}

store_traits tiered_store::traits_over(store_traits truth) {
  truth.name = "tiered";
  return truth;
}

store_traits tiered_store::traits() const { return traits_over(truth_->traits()); }

/// A call failed when all of its batch failed.
template <class Outcome>
void tiered_store::note_calls(const std::vector<result<Outcome>>& replies) {
  const auto lost = [](const auto& one) { return !one && one.error().retryable(); };
  if (std::all_of(replies.begin(), replies.end(), lost)) {
    breaker_.call_failed(replies.front().error().detail, base::boot_now());
  } else {
    breaker_.call_succeeded();
  }
}

// --- claims ---------------------------------------------------------------------------------

awaitable<std::vector<result<verdict>>> tiered_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  const auto now = base::boot_now();
  const auto trusted = breaker_.epoch_at(now);
  if (!trusted) co_return co_await claim_from_truth(std::move(batch), timeout);
  claim_round round(std::move(batch), *trusted, markers_, counters_, now);
  if (auto markers = round.marker_claims(); !markers.empty()) {
    auto reply =
        co_await monitor_.accelerator()->claim(std::move(markers), params_.accelerator_timeout);
    note_calls(reply);
    round.take_accelerator_reply(std::move(reply));
  }
  if (auto open = round.truth_claims(); !open.empty()) {
    const auto before = params_.clock->boot_ms();
    auto reply = co_await truth_->claim(std::move(open), timeout);
    round.take_truth_reply(std::move(reply), milliseconds(params_.clock->boot_ms() - before));
    auto settles = round.take_settles();
    co_await update_accelerator(std::move(settles));
  }
  co_return round.take_verdicts();
}

awaitable<std::vector<result<verdict>>> tiered_store::claim_from_truth(
    std::vector<onceguard::claim> batch, milliseconds timeout) {
  std::vector<claim_id> claim_ids;
  for (const auto& each : batch) claim_ids.push_back(each.claim_id);
  auto reply = co_await truth_->claim(std::move(batch), timeout);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    if (reply[i] && reply[i]->kind == verdict_kind::run)
      markers_.add_lease(claim_ids[i], std::nullopt);
  }
  counters_.claims_of_truth.fetch_add(reply.size(), std::memory_order_relaxed);
  co_return reply;
}

/// The caller waits for a moment, so that its next repeat finds the answer and not the marker.
awaitable<void> tiered_store::update_accelerator(std::vector<settlement> batch) {
  if (batch.empty()) co_return;
  auto sent = batch;
  const auto reply =
      co_await monitor_.accelerator()->settle(std::move(sent), params_.accelerator_timeout);
  note_calls(reply);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    if (!reply[i]) markers_.remove_later({batch[i].id, batch[i].about, batch[i].claim_id});
  }
}

// --- leases ---------------------------------------------------------------------------------

awaitable<std::vector<result<settled>>> tiered_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  // Read before the truth is asked: should an operator release the answer meanwhile, this epoch
  // ends, and nobody finds the copy.
  const auto trusted = breaker_.epoch_at(base::boot_now());
  const auto before = params_.clock->boot_ms();
  auto sent = batch;
  auto reply = co_await truth_->settle(std::move(sent), timeout);
  // The truth counts the retention from a moment that is at most so long ago.
  const milliseconds waited(params_.clock->boot_ms() - before);
  auto settles = settles_for_accelerator(batch, reply, waited, trusted, markers_, counters_);
  co_await update_accelerator(std::move(settles));
  co_return reply;
}

awaitable<std::vector<result<bool>>> tiered_store::extend(std::vector<extension> batch,
                                                          milliseconds timeout) {
  auto sent = batch;
  auto reply = co_await truth_->extend(std::move(sent), timeout);
  const bool trusted = breaker_.epoch_at(base::boot_now()).has_value();
  std::vector<extension> markers;
  std::vector<settlement> ends;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!reply[i]) continue;
    const auto& claim_id = batch[i].claim_id;
    const bool held = *reply[i];
    const auto lease_marker = !held     ? markers_.end_lease(claim_id)
                              : trusted ? markers_.marker_of(claim_id)
                                        : markers_.take_marker(claim_id);
    if (!lease_marker) continue;
    if (!trusted) {
      // The marker belongs to a lease that has changed since.
      markers_.remove_later({lease_marker->id, lease_marker->about, claim_id});
    } else if (!held) {
      ends.push_back(release_marker(lease_marker->id, lease_marker->about, claim_id));
    } else if (lease_marker->token != 0) {
      markers.push_back(extend_marker(*lease_marker, claim_id, batch[i].lease));
    }
  }
  co_await extend_markers(std::move(markers), std::move(ends));
  co_return reply;
}

/// After a failure the marker ends earlier, and the truth answers.
awaitable<void> tiered_store::extend_markers(std::vector<extension> batch,
                                             std::vector<settlement> ends) {
  if (!batch.empty()) {
    const auto reply =
        co_await monitor_.accelerator()->extend(std::move(batch), params_.accelerator_timeout);
    note_calls(reply);
  }
  co_await update_accelerator(std::move(ends));
}

// --- operators ------------------------------------------------------------------------------

awaitable<result<resolve_decision>> tiered_store::resolve(resolution request,
                                                          milliseconds timeout) {
  const auto id = request.id;
  auto reply = co_await truth_->resolve(std::move(request), timeout);
  const bool perhaps = !reply && reply.error().effect != effect::none;
  const bool forgets = reply && reply->forgets_answer;
  if (perhaps || forgets) {
    // The truth has begun another epoch with the release.
    breaker_.distrust_now();
    monitor_.poll_now();
  } else if (reply && reply->outcome == resolve_outcome::done) {
    co_await drop_marker(id);
  }
  co_return reply;
}

/// Removes the marker of a lease that has ended.
awaitable<void> tiered_store::drop_marker(record_id id) {
  const auto trusted = breaker_.epoch_at(base::boot_now());
  if (!trusted) {
    markers_.clear_later(id);
    co_return;
  }
  resolution request;
  request.id = trusted->slot_of(id);
  request.force = true;
  const auto done = co_await monitor_.accelerator()->resolve(request, params_.accelerator_timeout);
  if (!done) markers_.clear_later(id);
}

awaitable<result<import_outcome>> tiered_store::import_record(imported_record brought,
                                                              milliseconds timeout) {
  return truth_->import_record(std::move(brought), timeout);
}

awaitable<result<std::optional<record_view>>> tiered_store::find(record_id id,
                                                                 milliseconds timeout) {
  return truth_->find(id, timeout);
}

awaitable<result<list_page>> tiered_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds timeout) {
  return truth_->list(std::move(filter), std::move(cursor), limit, timeout);
}

awaitable<result<counts>> tiered_store::count(std::string cursor, milliseconds timeout) {
  return truth_->count(std::move(cursor), timeout);
}

awaitable<result<std::size_t>> tiered_store::sweep(std::size_t limit, milliseconds timeout) {
  return truth_->sweep(limit, timeout);
}

awaitable<result<onceguard::vitals>> tiered_store::vitals(milliseconds timeout) {
  auto reply = co_await truth_->vitals(timeout);
  // A caller that learns of a forgotten answer must not get the answer from here any more.
  if (reply && breaker_.note_vitals(*reply)) monitor_.poll_now();
  co_return reply;
}

awaitable<result<void>> tiered_store::check_writes(milliseconds timeout) {
  return truth_->check_writes(timeout);
}

// --- listener and end
// -------------------------------------------------------------------------------

void tiered_store::on_settled(settled_listener listener) {
  if (!listener) return truth_->on_settled(nullptr);
  truth_->on_settled(
      [this, listener = std::move(listener)](const std::vector<std::uint64_t>& settled) {
        // Before the listener wakes a waiter whose claim comes here: the marker may still be there.
        markers_.note_settled(settled, base::boot_now());
        listener(settled);
      });
}

std::vector<store_number> tiered_store::numbers() const {
  auto out = truth_->numbers();
  const auto add = [&](std::string_view name, std::string_view meaning, double value) {
    out.push_back({name, meaning, value});
  };
  add("onceguard_accelerator_replays_total", "Answers that the accelerator gave.",
      static_cast<double>(counters_.replays));
  add("onceguard_accelerator_busy_total", "Duplicates that the accelerator turned away.",
      static_cast<double>(counters_.busy));
  add("onceguard_accelerator_passed_claims_total", "Claims that the store behind it answered.",
      static_cast<double>(counters_.claims_of_truth));
  add("onceguard_accelerator_copies_total", "Answers that were copied into the accelerator.",
      static_cast<double>(counters_.copied));
  add("onceguard_accelerator_failures_total", "Calls of the accelerator that failed.",
      static_cast<double>(counters_.failures));
  add("onceguard_accelerator_outages_total", "How often the circuit breaker opened.",
      static_cast<double>(counters_.outages));
  out.push_back({"onceguard_accelerator_trusted", "Whether the accelerator is asked now.",
                 trusts() ? 1.0 : 0.0, false});
  return out;
}

void tiered_store::stop() {
  const std::lock_guard lock(stopping_);
  monitor_.stop();
  truth_->stop();
}

}  // namespace onceguard::tiered
