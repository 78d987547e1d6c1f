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
      watch_(metadata, std::move(accelerator), breaker_, marks_, counters_, params) {}

result<std::unique_ptr<tiered_store>> tiered_store::open(std::unique_ptr<store> truth,
                                                         epoch_metadata& metadata,
                                                         accelerator_factory accelerator,
                                                         const tiered_params& params) {
  std::unique_ptr<tiered_store> made(
      new tiered_store(std::move(truth), metadata, std::move(accelerator), params));
  if (auto why = made->watch_.first_poll()) return std::move(*why);
  return made;
}

store_traits tiered_store::traits() const {
  auto out = truth_->traits();
  out.name = "tiered";
  return out;
}

/// Whoever is out of reach for all of a batch is out of reach.
template <class Outcome>
void tiered_store::note_calls(const std::vector<result<Outcome>>& replies) {
  const auto lost = [](const auto& one) { return !one && one.error().retryable(); };
  if (std::all_of(replies.begin(), replies.end(), lost)) {
    breaker_.failed(replies.front().error().detail, base::boot_now());
  } else {
    breaker_.reached();
  }
}

// --- claims ---------------------------------------------------------------------------------

awaitable<std::vector<result<verdict>>> tiered_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  const auto now = base::boot_now();
  const auto trusted = breaker_.now(now);
  if (!trusted) co_return co_await claim_alone(std::move(batch), timeout);
  claim_round round(std::move(batch), *trusted, marks_, counters_, now);
  if (auto markers = round.for_accelerator(); !markers.empty()) {
    auto reply =
        co_await watch_.accelerator()->claim(std::move(markers), params_.accelerator_timeout);
    note_calls(reply);
    round.accelerator_answered(std::move(reply));
  }
  if (auto open = round.for_truth(); !open.empty()) {
    const auto before = params_.clock->boot_ms();
    auto reply = co_await truth_->claim(std::move(open), timeout);
    round.truth_answered(std::move(reply), milliseconds(params_.clock->boot_ms() - before));
    auto settles = round.take_settles();
    co_await update_accelerator(std::move(settles));
  }
  co_return round.take_verdicts();
}

awaitable<std::vector<result<verdict>>> tiered_store::claim_alone(
    std::vector<onceguard::claim> batch, milliseconds timeout) {
  std::vector<claim_id> claim_ids;
  for (const auto& each : batch) claim_ids.push_back(each.claim_id);
  auto reply = co_await truth_->claim(std::move(batch), timeout);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    if (reply[i] && reply[i]->kind == verdict_kind::run) marks_.hold(claim_ids[i], std::nullopt);
  }
  counters_.claims_of_truth.fetch_add(reply.size(), std::memory_order_relaxed);
  co_return reply;
}

/// Waits no longer than a moment: so that who asks once more meets the answer and not the marker.
awaitable<void> tiered_store::update_accelerator(std::vector<settlement> batch) {
  if (batch.empty()) co_return;
  auto sent = batch;
  const auto reply =
      co_await watch_.accelerator()->settle(std::move(sent), params_.accelerator_timeout);
  note_calls(reply);
  for (std::size_t i = 0; i < reply.size(); ++i) {
    if (!reply[i]) marks_.leave({batch[i].id, batch[i].about, batch[i].claim_id});
  }
}

// --- leases ---------------------------------------------------------------------------------

awaitable<std::vector<result<settled>>> tiered_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  const auto trusted = breaker_.now(base::boot_now());
  const auto before = params_.clock->boot_ms();
  auto sent = batch;
  auto reply = co_await truth_->settle(std::move(sent), timeout);
  const milliseconds waited(params_.clock->boot_ms() - before);
  auto settles = after_settles(batch, reply, waited, trusted, marks_, counters_);
  co_await update_accelerator(std::move(settles));
  co_return reply;
}

awaitable<std::vector<result<bool>>> tiered_store::extend(std::vector<extension> batch,
                                                          milliseconds timeout) {
  auto sent = batch;
  auto reply = co_await truth_->extend(std::move(sent), timeout);
  const bool trusted = breaker_.now(base::boot_now()).has_value();
  std::vector<extension> markers;
  std::vector<settlement> ends;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!reply[i]) continue;
    const auto& claim_id = batch[i].claim_id;
    const bool held = *reply[i];
    const auto placed_marker = !held     ? marks_.take(claim_id)
                               : trusted ? marks_.find(claim_id)
                                         : marks_.take_mark(claim_id);
    if (!placed_marker) continue;
    if (!trusted) {
      // It would speak of a lease that has changed since.
      marks_.leave({placed_marker->id, placed_marker->about, claim_id});
    } else if (!held) {
      auto& end = ends.emplace_back();
      end.id = placed_marker->id;
      end.about = placed_marker->about;
      end.claim_id = claim_id;
      end.kind = settle_kind::release;
    } else if (placed_marker->token != 0) {
      auto& longer = markers.emplace_back(batch[i]);
      longer.id = placed_marker->id;
      longer.token = placed_marker->token;
      longer.dispatch = false;
    }
  }
  co_await extend_markers(std::move(markers), std::move(ends));
  co_return reply;
}

/// Where that fails a marker ends earlier, and the truth is asked.
awaitable<void> tiered_store::extend_markers(std::vector<extension> batch,
                                             std::vector<settlement> ends) {
  if (!batch.empty()) {
    const auto reply =
        co_await watch_.accelerator()->extend(std::move(batch), params_.accelerator_timeout);
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
    // The truth has begun another epoch with it.
    breaker_.distrust_now();
    watch_.poll_now();
  } else if (reply && reply->outcome == resolve_outcome::done) {
    co_await drop(id);
  }
  co_return reply;
}

/// The marker of a lease that is no more.
awaitable<void> tiered_store::drop(record_id id) {
  const auto trusted = breaker_.now(base::boot_now());
  if (!trusted) {
    marks_.end(id);
    co_return;
  }
  resolution request;
  request.id = trusted->slot_of(id);
  request.force = true;
  const auto done = co_await watch_.accelerator()->resolve(request, params_.accelerator_timeout);
  if (!done) marks_.end(id);
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
  // Whoever hears that an answer was forgotten must not get it from here any more.
  if (reply && breaker_.note_vitals(*reply)) watch_.poll_now();
  co_return reply;
}

// --- its life -------------------------------------------------------------------------------

void tiered_store::on_settled(settled_listener listener) {
  if (!listener) return truth_->on_settled(nullptr);
  truth_->on_settled(
      [this, listener = std::move(listener)](const std::vector<std::uint64_t>& settled) {
        // Before the listener wakes somebody up who asks here: the marker may still stand there.
        marks_.settled(settled, base::boot_now());
        listener(settled);
      });
}

void tiered_store::stop() {
  const std::lock_guard lock(stopping_);
  watch_.stop();
  truth_->stop();
}

}  // namespace onceguard::tiered
