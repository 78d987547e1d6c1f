#include "gateway.hpp"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include "engine/background.hpp"
#include "mailbox.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t memory = 1u << 20;

operation operation_of(const client_request& request, byte_reservation& room) {
  operation out;
  out.id = request.key->id;
  out.about = request.key->about[request.print];
  out.policy = &request.key->policy;
  out.upstream = "shop";
  out.answer_room = &room;
  out.usual_answer = 64;
  out.longest_answer = 1'024;
  out.into_started = request.key->into_started;
  out.caller = request.left->get_token();
  return out;
}

answer_kind kind_of(const outcome& got) {
  switch (got.kind) {
    case outcome_kind::ran:
      return got.settled_as == settle_kind::complete  ? answer_kind::ran
             : got.settled_as == settle_kind::abandon ? answer_kind::unknown
                                                      : answer_kind::refused;
    case outcome_kind::replay:
      return got.answer ? answer_kind::replay : answer_kind::gone;
    case outcome_kind::superseded:
      return answer_kind::superseded;
    case outcome_kind::unrecorded:
      return answer_kind::unrecorded;
    case outcome_kind::busy:
      return answer_kind::busy;
    case outcome_kind::backoff:
      return answer_kind::backoff;
    case outcome_kind::mismatch:
      return answer_kind::mismatch;
    case outcome_kind::unknown:
      return answer_kind::unknown;
    case outcome_kind::granted:
    case outcome_kind::no_room:
    case outcome_kind::over_quota:
    case outcome_kind::store_failed:
    case outcome_kind::unguarded:
      break;
  }
  return answer_kind::unavailable;
}

settle_terms unknown_because(unknown_reason why) {
  settle_terms out;
  out.kind = settle_kind::abandon;
  out.why = why;
  return out;
}

}  // namespace

struct gateway::process {
  process(world& around, machine& node, const store_machines& stores, const scene& played)
      : records(around, node, stores, played.replays_without_truth),
        engine(records.get(), played.engine, budget) {}

  process_store records;
  byte_budget budget{memory};
  onceguard::engine engine;
};

gateway::gateway(world& around, machine& node, store_machines records, upstream& service,
                 const scene& played)
    : front_door(around, node), stores_(records), upstream_(service), scene_(played) {}

gateway::~gateway() {
  if (process_) crash();
}

void gateway::begin() {
  process_ = std::make_unique<process>(around(), node(), stores_, scene_);
  process_->engine.start(*node().loop);
}

void gateway::stop() { process_->engine.stop(); }

void gateway::end() { process_.reset(); }

void gateway::shut_down() {
  around().on(node(), [this] {
    auto give_up = [](onceguard::engine& ending) -> awaitable<void> {
      co_await ending.end_held_leases();
    };
    asio::co_spawn(*node().loop, give_up(process_->engine), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  });
}

std::size_t gateway::unfinished() const {
  if (!process_) return 0;
  const auto gauges = process_->engine.gauges();
  return process_->engine.pending() + gauges.leases + gauges.waiters;
}

void gateway::conclude(const client_request& request, const outcome& got, std::uint64_t body) {
  const auto kind = kind_of(got);
  answer(request, kind, kind == answer_kind::ran ? body : number_of(got.answer));
}

void gateway::handle(const client_request& request) {
  asio::co_spawn(*node().loop, exchange(request), [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

awaitable<void> gateway::exchange(client_request request) {
  auto& engine = process_->engine;
  byte_reservation room(process_->budget);
  auto op = operation_of(request, room);
  if (const auto found = engine.find_replay(op.id, op.about->print)) {
    co_return answer(request, found->answer ? answer_kind::replay : answer_kind::gone,
                     number_of(found->answer));
  }
  auto got = co_await engine.claim(*node().loop, std::move(op));
  if (!got.lease) co_return conclude(request, got.outcome, 0);
  if (got.lease->must_probe()) {
    auto ended = co_await ask_application(request, *got.lease);
    if (ended) co_return conclude(request, *ended, 0);
  }
  co_await run(request, std::move(*got.lease));
}

awaitable<void> gateway::run(const client_request& request, lease_handle lease) {
  std::uint64_t body = 0;
  auto terms = co_await do_work(request, lease, body);
  const auto ended = co_await lease.settle(std::move(terms));
  conclude(request, ended, body);
}

awaitable<std::optional<outcome>> gateway::ask_application(const client_request& request,
                                                           lease_handle& lease) {
  effect_report report;
  report.why = "the application did not answer";
  if (lease.begin_sending()) {
    note(event_kind::sending, request, lease.lease().token);
    const auto executor = co_await asio::this_coro::executor;
    const auto box = std::make_shared<mailbox<effect_report>>(executor);
    const std::weak_ptr<mailbox<effect_report>> receiver = box;
    auto ask = [this, receiver, key = request.key, fence = lease.lease().token] {
      const auto found = upstream_.probe(*key, fence);
      around().send(upstream_.node(), node(), message_kind::work_reply,
                    [receiver, found] { mailbox<effect_report>::put(receiver, found); });
    };
    around().send(node(), upstream_.node(), message_kind::work_request, std::move(ask));
    co_await box->wait(request.key->policy.upstream_timeout);
    if (box->content) report = std::move(*box->content);
  }
  co_return co_await lease.conclude(std::move(report));
}

awaitable<settle_terms> gateway::do_work(const client_request& request, lease_handle& lease,
                                         std::uint64_t& body) {
  settle_terms terms;
  terms.kind = settle_kind::release;
  if (lease.lease().started) {
    const auto begun = co_await lease.dispatch();
    if (!begun || !*begun) co_return terms;  // nothing was sent
  }
  if (!lease.begin_sending()) co_return terms;
  note(event_kind::sending, request, lease.lease().token);
  auto upload = around().random().between(0, 3);
  if (scene_.slow_upload.count() != 0 && around().random().chance(50)) {
    upload = around().random().between(1, scene_.slow_upload.count());
  }
  if (upload != 0) co_await sleep_for(milliseconds(upload));
  if (!lease.may_go_on()) {
    // Half a request stays half.
    if (upload == 0) co_return terms;
    note(event_kind::in_doubt, request, lease.lease().token);
    co_return unknown_because(unknown_reason::holder_gone);
  }
  const auto got = co_await call_upstream(request, lease);
  const auto& policy = request.key->policy;
  if (!got) {
    note(event_kind::in_doubt, request, lease.lease().token);
    co_return unknown_because(unknown_reason::upstream_timeout);
  }
  const auto rule = outcome_of(policy, got->status);
  if (rule == outcome_rule::unknown) note(event_kind::in_doubt, request, lease.lease().token);
  if (rule == outcome_rule::complete) {
    note(event_kind::answered, request, lease.lease().token, 0, got->body);
    body = got->body;
    terms.kind = settle_kind::complete;
    terms.answer = make_answer(body);
    terms.retention = policy.retention;
  } else if (rule == outcome_rule::fail) {
    terms.kind = settle_kind::fail;
    terms.backoff = policy.backoff;
    terms.backoff_max = policy.backoff_max;
    terms.retention = policy.retention;
  } else if (rule == outcome_rule::unknown) {
    terms = unknown_because(unknown_reason::upstream_status);
    terms.why_status = got->status;
  }
  co_return terms;
}

/// The last byte of the request leaves, and its answer is waited for.
awaitable<std::optional<work_reply>> gateway::call_upstream(const client_request& request,
                                                            const lease_handle& lease) {
  note(event_kind::dispatch, request, lease.lease().token);
  return upstream_.call(node(), {request.key, request.print, lease.lease(), around().now()});
}

}  // namespace onceguard::sim
