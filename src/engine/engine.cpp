#include <algorithm>
#include <stdexcept>

#include <onceguard/engine.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "engine/claim_attempt.hpp"
#include "engine/engine_state.hpp"
#include "engine/one_thread.hpp"
#include "engine/redirected_operation.hpp"

namespace onceguard {

namespace asio = boost::asio;

std::optional<cached_replay> engine::state::find_replay(const record_id& id,
                                                        const fingerprint& print) {
  auto found = cache.find(id, print, base::boot_now());
  if (found) counters.cached_replays.fetch_add(1, std::memory_order_relaxed);
  return found;
}

void engine::state::remember(const operation& op, answer_ptr answer, answer_kept kept,
                             milliseconds retention, std::uint64_t epoch) {
  // A completed record without an answer is not cached: the application may still complete the
  // record with the missing answer.
  if (retention.count() <= 0 || kept == answer_kept::none) return;
  if (is_redirect(op, answer)) return;  // what it leads to may be done by now
  cached_replay entry;
  entry.answer = std::move(answer);
  entry.kept = kept;
  cache.put(op.id, op.about->print, std::move(entry), base::boot_now() + retention, epoch);
}

bool lease_list::holds(const record_id& id) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(held_.begin(), held_.end(),
                     [&id](const auto& held) { return held->id() == id && !held->is_lost(); });
}

void engine::state::met(const operation& op, verdict& found, bool reporting) {
  // A claim in doubt, whose work never began; or a lease whose settle is on its way.
  const bool is_unknown = found.kind == verdict_kind::unknown;
  if (is_unknown && (reporting || behind.concerns(op.id) || leases.holds(op.id))) {
    found.kind = verdict_kind::busy;
    return;
  }
  unknowns.met(op, found);
}

void engine::state::announce(const operation& op, const outcome& outcome) {
  if (waiting.empty()) return;
  auto result = std::make_shared<twin_outcome>();
  result->print = op.about->print;
  result->policy = op.policy;
  result->outcome = outcome;
  waiting.announce(op.id, result);
}

asio::awaitable<void> engine::state::keep_renewing_by_rounds() {
  constexpr milliseconds round{100};
  while (!behind.stopping()) {
    co_await sleep_for(round);
    if (leases_by_rounds.load(std::memory_order_relaxed) == 0) continue;
    for (const auto& held : leases.all()) {
      if (held->renewed_by() == renewal::by_rounds) held->renew_if_due();
    }
  }
}

namespace {

engine_params bounded(engine_params params) {
  for (auto* each : {&params.store_timeout, &params.settle_wait, &params.sweep_interval,
                     &params.twin_poll, &params.loss_quiet, &params.longest_retention}) {
    *each = base::bounded(*each);
  }
  return params;
}

/// What is wrong with the durations; empty: nothing.
std::string fault_of(const engine_params& params) {
  // Without a pause these would ask the store without end.
  if (params.store_timeout.count() <= 0) return "store_timeout is not positive";
  if (params.sweep_interval.count() <= 0) return "sweep_interval is not positive";
  if (params.twin_poll.count() <= 0) return "twin_poll is not positive";
  if (params.settle_wait.count() < 0) return "settle_wait is negative";
  if (params.loss_quiet.count() < 0) return "loss_quiet is negative";
  if (params.longest_retention.count() < 0) return "longest_retention is negative";
  return {};
}

}  // namespace

engine::engine(store& records, engine_params params, byte_budget& budget)
    : state_(std::make_unique<state>(records, bounded(std::move(params)), budget)) {}

engine::~engine() {
  stop();
  for (const auto& held : state_->leases.all()) held->engine_ended = true;
}

result<void> engine::check() const {
  if (auto fault = fault_of(state_->params); !fault.empty()) {
    return error(errc::invalid_argument, "engine_params: " + fault);
  }
  return state_->monitor.check();
}

asio::awaitable<result<void>> engine::poll_store() { return state_->monitor.poll(); }

void engine::start(asio::io_context& io) {
  state_->background_io = &io;
  state_->monitor.start(io);
  spawn_background(io, "renew leases", state_->keep_renewing_by_rounds());
  state_->listening = true;
  state_->records.on_settled([this](const std::vector<std::uint64_t>& settled) {
    state_->waiting.poll_by_prefix(settled);
  });
}

void engine::stop() {
  state_->monitor.stop();
  state_->behind.stop();
  if (state_->listening.exchange(false)) state_->records.on_settled(nullptr);
}

std::optional<cached_replay> engine::find_replay(const record_id& id, const fingerprint& print) {
  return state_->find_replay(id, print);
}

asio::awaitable<claim_result> engine::claim(asio::io_context& io, operation operation) {
  return claim_operation(*state_, {io, renewal::by_timer}, std::move(operation));
}

asio::awaitable<claim_result> engine::claim(operation operation) {
  auto* const io = state_->background_io.load();
  if (io == nullptr) throw std::logic_error("engine::claim: the engine was not started");
  return on_one_thread(*io,
                       claim_operation(*state_, {*io, renewal::by_rounds}, std::move(operation)));
}

std::size_t engine::pending() const noexcept { return state_->behind.pending(); }

void engine::expect(milliseconds loss_quiet, milliseconds longest_retention) {
  state_->monitor.expect(loss_quiet, longest_retention);
}

asio::awaitable<void> engine::end_held_leases() {
  std::vector<settlement> batch;
  std::vector<std::string> upstreams;  // copied: a request may end meanwhile
  const auto leases = state_->leases.all();
  for (const auto& held : leases) {
    settle_terms terms;
    // From give_up() on nothing is sent under this lease, so that what it says of the past stays
    // true.
    terms.kind = held->give_up() ? settle_kind::release : settle_kind::abandon;
    if (terms.kind == settle_kind::abandon) terms.why = unknown_reason::abandoned;
    batch.push_back(settle_lease(held->id(), held->lease(), nullptr, std::move(terms)));
    upstreams.emplace_back(held->op.upstream);
  }
  if (batch.empty()) co_return;
  base::log(base::event::leases_given_up, {{"count", batch.size()}});
  const auto replies = co_await state_->records.settle(batch, state_->params.store_timeout);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i]) {
      state_->unknowns.settled(batch[i], *replies[i], leases[i]->op.about.get(), upstreams[i]);
    } else {
      base::log(base::event::lease_not_given_up, {{"why", replies[i].error().detail}});
    }
  }
}

const engine_counters& engine::counters() const noexcept { return state_->counters; }

store_health engine::health() const { return state_->monitor.health(); }

engine_gauges engine::gauges() const {
  engine_gauges out;
  out.leases = state_->leases.size();
  out.waiters = state_->waiting.size();
  const auto cached = state_->cache.size();
  out.cached_answers = cached.answers;
  out.cached_bytes = cached.bytes;
  return out;
}

store& engine::records() noexcept { return state_->records; }

}  // namespace onceguard
