#include <atomic>
#include <pthread.h>
#include <stdexcept>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <onceguard/guard.hpp>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "core/request.hpp"
#include "engine/background.hpp"
#include "guard/blocking.hpp"
#include "guard/changes.hpp"
#include "store/linked_stores.hpp"

namespace onceguard {
inline namespace v1 {

namespace asio = boost::asio;

namespace {

std::optional<error> complaint(const route_policy& policy) {
  const auto refuse = [](std::string why) {
    return error(errc::invalid_argument, "route_policy: " + std::move(why));
  };
  if (auto fault = fault_of_durations(policy); !fault.empty()) return refuse(std::move(fault));
  if (policy.store_failure == store_failure_rule::open) {
    return refuse("store_failure = open is for HTTP: a caller of the library gets store_failed");
  }
  if (policy.pick != answer_parts{} || policy.redact != answer_parts{}) {
    return refuse(
        "pick and redact are for HTTP: a caller of the library keeps what its codec says");
  }
  return std::nullopt;
}

/// How often this process was forked from one that had loaded the library.
std::atomic<unsigned> forks{0};

unsigned watched_forks() {
  static const int watching =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return watching == 0 ? forks.load(std::memory_order_relaxed) : 0;
}

claim_result refused(error why) {
  claim_result out;
  out.outcome.kind = outcome_kind::store_failed;
  out.outcome.failure = std::move(why);
  return out;
}

}  // namespace

struct guard::state {
  state(std::unique_ptr<store> opened, guard_params given)
      : params(std::move(given)),
        sole(std::make_unique<owned>(std::move(opened), params)),
        records(*sole->records),
        budget(sole->budget),
        engine(sole->engine),
        forks_before(watched_forks()),
        keep_running(asio::make_work_guard(io)) {}

  state(onceguard::engine& running, store& theirs, byte_budget& shared, guard_params given)
      : params(std::move(given)),
        records(theirs),
        budget(shared),
        engine(running),
        forks_before(watched_forks()),
        keep_running(asio::make_work_guard(io)) {}

  void start() {
    if (sole) engine.start(io);
    loop = std::thread([this] { io.run(); });
  }

  ~state() {
    if (!loop.joinable()) return;
    if (sole) end_engine();
    keep_running.reset();
    io.stop();
    loop.join();
  }

  void end_engine() {
    try {
      // Not by run_here: a guard of static storage outlives what the main thread keeps for itself.
      asio::co_spawn(io, end(), asio::use_future).get();
    } catch (const std::exception& e) {
      base::log(base::event::lease_not_given_up, {{"why", e.what()}});
    }
    engine.stop();
    records.stop();
  }

  /// Threads, locks and connections are those of the parent.
  [[nodiscard]] bool of_parent() const noexcept {
    return forks.load(std::memory_order_relaxed) != forks_before;
  }

  asio::awaitable<void> end() {
    co_await engine.end_held_leases();
    const auto until = base::boot_now() + params.engine.settle_wait;
    retry_pause pause;
    while (engine.pending() != 0 && base::boot_now() < until) co_await pause.sleep();
    if (!params.engine.state_dir.empty()) co_await testify();
  }

  /// The witness shall know of the last settle: a process may end right after it. A failure is
  /// logged.
  asio::awaitable<void> testify() {
    // The first poll may be one that was sent before that settle.
    auto polled = co_await engine.poll_store();
    if (polled) polled = co_await engine.poll_store();
  }

  /// Answers what needs no store; otherwise fills in the operation to claim.
  [[nodiscard]] std::optional<claim_result> answered_here(const request& request,
                                                          const route_policy& policy,
                                                          operation& made) {
    if (of_parent()) {
      return refused({errc::conflict, "guard: the process was forked since; open another one"});
    }
    auto wrong = onceguard::complaint(request);
    if (!wrong) wrong = complaint(policy);
    if (wrong) {
      auto out = refused(std::move(*wrong));
      if (params.on_change) {
        report_change(params.on_change, change_of_claim(out.outcome), {}, nullptr);
      }
      return out;
    }
    const auto digests = digests_of(request);
    if (auto found = engine.find_replay(digests.id, digests.print)) {
      claim_result out;
      out.outcome.kind = outcome_kind::replay;
      out.outcome.answer = std::move(found->answer);
      out.outcome.kept = found->kept;
      if (params.on_change) {
        report_change(params.on_change, change_of_claim(out.outcome), {}, &digests.id);
      }
      return out;
    }
    made.id = digests.id;
    made.about = subject_of(request, digests);
    made.policy = &policy;
    return std::nullopt;
  }

  asio::awaitable<claim_result> claim(operation made) {
    const auto id = made.id;
    auto got = co_await engine.claim(std::move(made));
    if (got.lease && got.lease->must_probe()) {
      effect_report report;
      if (params.probe) report = params.probe(got.lease->about(), got.lease->lease());
      auto ended = co_await got.lease->conclude(std::move(report));
      if (ended) {
        if (ended->kind == outcome_kind::replay) {
          report_change(params.on_change, {change_kind::completed, "probe"}, {}, &id,
                        got.lease->lease().attempt);
        }
        got.outcome = std::move(*ended);
        got.lease.reset();
      }
    }
    if (got.lease) static_cast<void>(got.lease->begin_sending());
    if (params.on_change) report_claim(id, got);
    co_return got;
  }

  void report_claim(const record_id& id, claim_result& got) {
    if (!got.lease) {
      return report_change(params.on_change, change_of_claim(got.outcome), {}, &id);
    }
    const auto attempt = got.lease->lease().attempt;
    got.lease->watch([this, id, attempt](lease_event seen) {
      report_change(params.on_change, change_of_event(seen), {}, &id, attempt);
    });
    report_change(params.on_change, {change_kind::claimed}, {}, &id, attempt);
  }

  asio::awaitable<outcome> settle(lease_handle held, settle_terms terms) {
    const auto why = terms.why;
    auto ended = co_await held.settle(std::move(terms));
    if (params.on_change) {
      report_change(params.on_change, change_of_settle(ended, why), {}, &held.id(),
                    held.lease().attempt);
    }
    co_return ended;
  }

  /// What it has for itself alone.
  struct owned {
    owned(std::unique_ptr<store> opened, const guard_params& given)
        : records(std::move(opened)),
          budget(given.max_buffered),
          engine(*records, given.engine, budget) {}

    const std::unique_ptr<store> records;
    byte_budget budget;
    onceguard::engine engine;
  };

  const guard_params params;
  const std::unique_ptr<owned> sole;  // null: another one's engine
  store& records;
  byte_budget& budget;
  onceguard::engine& engine;
  const unsigned forks_before;
  asio::io_context io{1};  // ends before the engine, whose background work it runs
  asio::executor_work_guard<asio::io_context::executor_type> keep_running;
  std::thread loop;
};

result<guard> guard::open(const std::string& url, guard_params params) {
  store_params wanted;
  wanted.url = url;
  wanted.timeout = params.store_timeout;
  wanted.connections = params.connections;
  auto opened = linked_stores().open(wanted);
  if (!opened) return std::move(opened).error();
  return open(std::move(*opened), std::move(params));
}

result<guard> guard::open(std::unique_ptr<store> records, guard_params params) {
  if (!records) return error(errc::invalid_argument, "guard::open: there is no store");
  if (auto wrong = complaint(params.policy)) return std::move(*wrong);
  params.engine.store_timeout = params.store_timeout;
  std::unique_ptr<state, state_end> made(new state(std::move(records), std::move(params)));
  if (const auto fine = made->engine.check(); !fine) return fine.error();
  if (const auto polled = run_here(made->engine.poll_store()); !polled) return polled.error();
  made->start();
  return guard(std::move(made));
}

guard guard::over(onceguard::engine& running, store& records, byte_budget& budget,
                  guard_params params) {
  std::unique_ptr<state, state_end> made(new state(running, records, budget, std::move(params)));
  made->start();
  return guard(std::move(made));
}

void guard::state_end::operator()(state* ended) const noexcept {
  if (!ended->of_parent()) delete ended;
}

result<guard> guard::open(const std::string& url) { return open(url, guard_params{}); }
result<guard> guard::open(std::unique_ptr<store> records) {
  return open(std::move(records), guard_params{});
}

guard::guard(std::unique_ptr<state, state_end> made) noexcept : state_(std::move(made)) {}
guard::guard(guard&&) noexcept = default;
guard& guard::operator=(guard&&) noexcept = default;
guard::~guard() = default;

const route_policy& guard::policy() const noexcept { return state_->params.policy; }
onceguard::engine& guard::engine() noexcept { return state_->engine; }
store& guard::records() noexcept { return state_->records; }
milliseconds guard::store_timeout() const noexcept { return state_->params.store_timeout; }
byte_budget& guard::budget() noexcept { return state_->budget; }

claim_result guard::begin(const request& request, const route_policy& policy,
                          std::stop_token caller) {
  operation made;
  if (auto known = state_->answered_here(request, policy, made)) return std::move(*known);
  made.caller = std::move(caller);
  return run_here(state_->claim(std::move(made)));
}

asio::awaitable<claim_result> guard::async_begin(request request, const route_policy& policy,
                                                 std::stop_token caller) {
  operation made;
  if (auto known = state_->answered_here(request, policy, made)) co_return std::move(*known);
  made.caller = std::move(caller);
  co_return co_await state_->claim(std::move(made));
}

claim_result guard::claim(const request& request, const route_policy& policy,
                          std::stop_token caller) {
  return begin(request, policy, std::move(caller));
}

asio::awaitable<claim_result> guard::async_claim(request request, const route_policy& policy) {
  return async_begin(std::move(request), policy, {});
}

outcome guard::settle(lease_handle held, settle_terms terms) {
  return run_here(state_->settle(std::move(held), std::move(terms)));
}

asio::awaitable<outcome> guard::async_settle(lease_handle held, settle_terms terms) {
  return state_->settle(std::move(held), std::move(terms));
}

void guard::begin_job(request request, const route_policy& policy,
                      std::function<void(claim_result)> begun) {
  auto run = [](guard& self, onceguard::request wanted, const route_policy& rules,
                std::function<void(claim_result)> then) -> asio::awaitable<void> {
    const std::stop_token nobody;
    then(co_await self.async_begin(std::move(wanted), rules, nobody));
  };
  spawn_background(state_->io, "a job of guard::start",
                   run(*this, std::move(request), policy, std::move(begun)));
}

void guard::settle_job(lease_handle held, settle_terms terms, std::function<void(outcome)> ended) {
  auto run = [](state& self, lease_handle lease, settle_terms end,
                std::function<void(outcome)> then) -> asio::awaitable<void> {
    then(co_await self.settle(std::move(lease), std::move(end)));
  };
  spawn_background(state_->io, "the end of a job of guard::start",
                   run(*state_, std::move(held), std::move(terms), std::move(ended)));
}

settle_terms terms_of_result(answer made, const route_policy& policy) {
  settle_terms out;
  out.retention = policy.retention;
  if (made.status < 100 || made.status > 999) {
    throw std::invalid_argument("execute: an answer has a status from 100 to 999");
  }
  out.answer = std::make_shared<const answer>(std::move(made));
  return out;
}

settle_terms terms_of_exception(const route_policy& policy) noexcept {
  settle_terms out;
  out.backoff = policy.backoff;
  out.backoff_max = policy.backoff_max;
  try {
    throw;
  } catch (const not_done&) {
    out.kind = settle_kind::release;
    return out;
  } catch (const try_later&) {
    out.kind = settle_kind::fail;
    return out;
  } catch (...) {
    out.kind = settle_kind::abandon;
    out.why = unknown_reason::abandoned;
  }
  switch (policy.exception) {
    case exception_rule::unknown:
      break;
    case exception_rule::release:
      out.kind = settle_kind::release;
      break;
    case exception_rule::fail:
      out.kind = settle_kind::fail;
      break;
  }
  return out;
}

std::string running::key_for(std::string_view purpose) const {
  std::string text = base::to_hex(held_.id());
  text += '/';
  text += purpose;
  return base::to_hex(base::sha256_of(text));
}

}  // namespace v1
}  // namespace onceguard
