#include "engine/lease_handle.hpp"

#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "engine/effect_report.hpp"
#include "engine/one_thread.hpp"
#include "engine/redirected_operation.hpp"
#include "store/record_errors.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

/// A settle ends its lease also where it throws, or is destroyed on its way.
class end_at_exit {
 public:
  explicit end_at_exit(lease_handle::state& held) noexcept : held_(held) {}
  end_at_exit(const end_at_exit&) = delete;
  end_at_exit& operator=(const end_at_exit&) = delete;
  ~end_at_exit() { held_.end(); }

 private:
  lease_handle::state& held_;
};

outcome plain_outcome(outcome_kind kind) {
  outcome out;
  out.kind = kind;
  return out;
}

outcome replayed(const answer_ptr& answer, answer_kept kept) {
  auto out = plain_outcome(outcome_kind::replay);
  out.answer = answer;
  out.kept = kept;
  return out;
}

/// A lease of an io_context is used on its loop; the holder of another one may be on any executor.
template <class T>
asio::awaitable<T> on_its_loop(lease_handle::state& held, asio::awaitable<T> call) {
  if (held.renewed_by() == renewal::by_timer) return call;
  return on_one_thread(held.io, std::move(call));
}

}  // namespace

lease_handle::state::state(engine::state& engine, const lease_home& home, operation operation,
                           onceguard::lease got, base::boot_clock::time_point claimed)
    : held_lease(home.io, engine.records, operation.id, got, lease_length(*operation.policy),
                 engine.params.store_timeout, claimed, home.renewed_by),
      granter(engine),
      io(home.io),
      op(std::move(operation)),
      epoch(engine.cache.epoch()) {}

void lease_handle::state::end() noexcept {
  settled = true;
  if (std::exchange(ended, true) || engine_ended) return;
  stop_renewing();
  if (watching) watching->when_lost.reset();
  quota.leave();
  granter.leases.remove(listed);
  if (renewed_by() == renewal::by_rounds) granter.leases_by_rounds.fetch_sub(1);
}

lease_handle::lease_handle(std::shared_ptr<state> granted) noexcept : state_(std::move(granted)) {
  state_->listed = state_->granter.leases.add(state_);
  if (state_->renewed_by() == renewal::by_rounds) state_->granter.leases_by_rounds.fetch_add(1);
  if (renews_lease(*state_->op.policy)) state_->keep_renewing();
}

lease_handle::~lease_handle() {
  if (!state_ || state_->settled || state_->engine_ended) return;
  auto& self = *state_;
  self.end();
  if (self.watching) self.watching->call(lease_event::dropped);
  if (self.granter.behind.stopping())
    return;  // at shutdown, end_held_leases() has ended the leases
  try {
    base::log(base::event::lease_dropped, {{"record", base::digest_text(id())}});
    settle_terms terms;
    terms.kind = settle_kind::abandon;
    terms.why = unknown_reason::abandoned;
    self.granter.behind.settle_now(self.io,
                                   settle_lease(id(), lease(), self.op.about, std::move(terms)),
                                   std::string(self.op.upstream));
  } catch (const std::exception& e) {
    // The lease then runs out by itself, and the outcome is unknown all the same.
    base::log(base::event::lease_not_given_up, {{"why", e.what()}});
  }
}

const record_id& lease_handle::id() const noexcept { return state_->id(); }
const subject& lease_handle::about() const noexcept { return *state_->op.about; }
const lease& lease_handle::lease() const noexcept { return state_->lease(); }
std::string lease_handle::text() const { return state_->text(); }
bool lease_handle::must_probe() const noexcept { return state_->lease().probe; }
bool lease_handle::begin_sending() noexcept { return state_->begin_sending(); }
bool lease_handle::may_go_on() const noexcept { return state_->may_go_on(); }
milliseconds lease_handle::left() const noexcept { return state_->left(); }
bool lease_handle::lost() const noexcept { return state_->superseded(); }
std::stop_token lease_handle::stop_when_lost() { return state_->stop_when_lost(); }
void lease_handle::watch(std::function<void(lease_event)> watcher) {
  state_->watching = std::make_unique<lease_watch>();
  auto& watch = *state_->watching;
  watch.call = std::move(watcher);
  watch.when_lost.emplace(state_->stop_when_lost(),
                          [&call = watch.call] { call(lease_event::lost); });
}
held_lease& lease_handle::held() noexcept { return *state_; }

asio::awaitable<result<bool>> lease_handle::renew() {
  return on_its_loop(*state_, state_->renew_now());
}

asio::awaitable<result<bool>> lease_handle::dispatch() {
  return on_its_loop(*state_, static_cast<held_lease&>(*state_).dispatch());
}

void lease_handle::stop_renewing() noexcept { state_->stop_renewing(); }

void lease_handle::let_go() noexcept {
  if (!state_ || state_->settled || state_->engine_ended) return;
  state_->end();
}

asio::awaitable<outcome> lease_handle::settle(settle_terms terms) {
  if (!state_ || state_->settled) {
    throw std::logic_error("lease_handle: settled twice, or settled after it was moved from");
  }
  if (state_->engine_ended) {
    throw std::logic_error("lease_handle: settled after its engine had ended");
  }
  co_return co_await on_its_loop(*state_, state_->settle(std::move(terms)));
}

asio::awaitable<std::optional<outcome>> lease_handle::conclude(effect_report report) {
  return on_its_loop(*state_, conclude_here(std::move(report)));
}

asio::awaitable<std::optional<outcome>> lease_handle::conclude_here(effect_report report) {
  auto& self = *state_;
  self.granter.counters.probes.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::probed,
            {{"record", base::digest_text(id())}, {"status", name_of(report.status)}});
  auto terms = terms_after(report, self.op.policy->retention);
  if (!terms) {
    const auto dispatched = co_await self.dispatch();
    if (!dispatched) {
      self.granter.monitor.note(dispatched.error());
      // Nothing was sent. If the store carried out the dispatch, the release makes the key free; if
      // not, the record stays unknown.
      self.end();
      settle_terms back;
      back.kind = settle_kind::release;
      self.granter.behind.settle(self.io, settle_lease(id(), lease(), self.op.about, back),
                                 std::string(self.op.upstream));
      auto out = plain_outcome(outcome_kind::store_failed);
      out.failure = dispatched.error();
      co_return out;
    }
    if (!*dispatched) {
      self.end();
      co_return plain_outcome(outcome_kind::busy);
    }
    self.granter.counters.runs.fetch_add(1, std::memory_order_relaxed);
    self.granter.unknowns.began(id());
    self.epoch = self.granter.cache.epoch();
    co_return std::nullopt;
  }
  const auto kept = terms->kept;
  auto out = co_await self.settle(std::move(*terms));
  if (out.kind == outcome_kind::ran) {
    if (report.status == effect_status::done) co_return replayed(report.answer, kept);
    out = plain_outcome(outcome_kind::unknown);
    out.probed = true;
  }
  co_return out;
}

namespace {

std::uint64_t size_of(const answer& kept) {
  std::uint64_t out = kept.body.size();
  for (const auto& [name, value] : kept.headers) out += name.size() + value.size();
  return out;
}

/// After a completion: the record's answer counts, which may be another, and it can't be read now.
outcome illegible_outcome(error why) {
  auto out = plain_outcome(outcome_kind::store_failed);
  out.settled_as = settle_kind::complete;
  out.failure = std::move(why);
  out.failure.effect = effect::done;
  return out;
}

}  // namespace

asio::awaitable<outcome> lease_handle::state::settle(settle_terms terms) {
  settled = true;
  if (op.came_back && terms.kind == settle_kind::complete && is_redirect(op, terms.answer)) {
    // It did nothing but send the client round once more, which a replay would do for ever.
    terms.kind = settle_kind::release;
    terms.answer = nullptr;
  }
  const auto self = shared_from_this();
  const end_at_exit ending(*this);
  const auto request = settle_lease(id(), lease(), op.about, std::move(terms));
  // While the settle is on its way, the lease stays renewed, so that no other attempt runs the work
  // again. A lease that is given up is not renewed any more.
  if (request.kind == settle_kind::abandon || request.kind == settle_kind::release) {
    stop_renewing();
  }
  if (quota.taken() && request.kind == settle_kind::complete && request.answer) {
    quota.keep_bytes(size_of(*request.answer));
  }
  const auto until = base::boot_now() + granter.params.settle_wait;
  retry_pause pause;
  for (;;) {
    std::vector<settlement> batch(1, request);
    auto replies = co_await granter.records.settle(std::move(batch), granter.params.store_timeout);
    sealed::refuse_sealed(replies[0], op.id, effect::done);
    if (replies[0]) {
      const bool stale = replies[0]->outcome == settle_outcome::stale;
      outcome out;
      if (stale) {
        out = co_await superseded_outcome();
      } else {
        out = after_settle(request, *replies[0]);
        const bool completed =
            out.kind == outcome_kind::ran && out.settled_as == settle_kind::complete;
        if (resumed && completed) out = co_await outcome_on_record(request);
      }
      co_return out;
    }
    granter.behind.log_failed_settle(request, replies[0].error());
    if (hides_answer(replies[0].error())) {
      granter.waiting.poll(op.id);
      co_return illegible_outcome(replies[0].error());
    }
    if (base::boot_now() + pause.next() >= until || granter.behind.stopping()) break;
    co_await pause.sleep();
  }
  // The effect happened: the settle is repeated in the background although the caller waits no
  // longer.
  auto out = plain_outcome(outcome_kind::unrecorded);
  out.settled_as = request.kind;
  if (request.kind == settle_kind::release) quota.drop_record();
  if (request.answer && op.answer_room != nullptr) {
    granter.behind.settle(io, request, std::string(op.upstream), std::move(*op.answer_room));
  } else {
    granter.behind.settle(io, request, std::string(op.upstream));
  }
  co_return out;
}

asio::awaitable<outcome> lease_handle::state::superseded_outcome() {
  granter.counters.stale_settles.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::settle_was_stale, {{"record", base::digest_text(op.id)}});
  // The key may have been used for another request since. The answer to that request must not be
  // sent here.
  const auto found = co_await granter.records.find(op.id, granter.params.store_timeout);
  if (found && *found && (*found)->state == observed_state::completed &&
      (*found)->stored.about->print == op.about->print) {
    auto out = replayed((*found)->stored.answer, (*found)->stored.kept);
    granter.announce(op, out);
    // The application may have completed the record itself, under this lease.
    const auto& stored = (*found)->stored;
    out.superseded = !stored.by_application || stored.token != lease().token;
    co_return out;
  }
  granter.waiting.poll(op.id);
  const bool failed_before = found && *found && (*found)->state == observed_state::failed &&
                             (*found)->stored.token == lease().token &&
                             (*found)->stored.claim_id == lease().claim_id;
  if (failed_before) {
    auto out = plain_outcome(outcome_kind::backoff);
    out.retry_after = (*found)->retry_after;
    co_return out;
  }
  auto out = plain_outcome(outcome_kind::superseded);
  out.superseded = true;
  co_return out;
}

/// The store answers a settle that it gets again as done, whatever its answer: the first one stays.
asio::awaitable<outcome> lease_handle::state::outcome_on_record(const settlement& request) {
  auto out = plain_outcome(outcome_kind::ran);
  out.settled_as = settle_kind::complete;
  const auto found = co_await granter.records.find(op.id, granter.params.store_timeout);
  if (!found && found.error().code == errc::record_unreadable) {
    co_return illegible_outcome(found.error());
  }
  if (!found || !*found || (*found)->state != observed_state::completed) co_return out;
  const auto& stored = (*found)->stored;
  const bool whole = stored.answer != nullptr && request.answer != nullptr;
  const bool same = stored.kept == request.kept && (stored.kept != answer_kept::full ||
                                                    (whole && *stored.answer == *request.answer));
  if (!same) out = replayed(stored.answer, stored.kept);
  granter.announce(op, replayed(stored.answer, stored.kept));
  co_return out;
}

outcome lease_handle::state::after_settle(const settlement& request,
                                          const onceguard::settled& reply) {
  if (request.kind == settle_kind::release) quota.drop_record();
  granter.unknowns.settled(request, reply, op.about.get(), op.upstream);
  if (reply.outcome == settle_outcome::incident) {
    granter.counters.incidents.fetch_add(1, std::memory_order_relaxed);
    base::log(base::event::settled_a_record_that_was_gone, {{"record", base::digest_text(op.id)}});
  }
  if (reply.state == observed_state::completed && reply.answer) {  // completed by the application
    auto out = replayed(reply.answer, reply.kept);
    granter.announce(op, out);
    return out;
  }
  if (request.kind == settle_kind::complete && !resumed) {
    // If the application completed the record before, its retention is not known here; the next
    // repeat reads it from the store.
    if (reply.state != observed_state::completed) {
      granter.remember(op, request.answer, request.kept, request.retention, epoch);
    }
    granter.announce(op, replayed(request.answer, request.kept));
  } else {
    granter.waiting.poll(op.id);
  }
  auto out = plain_outcome(outcome_kind::ran);
  out.settled_as = request.kind;
  return out;
}

}  // namespace onceguard
