#include "gateway.hpp"

#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "engine/background.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;
using asio::awaitable;

namespace {

constexpr std::size_t memory = 1u << 20;

/// What a message brings to a coroutine that waits for it.
template <class Value>
struct mailbox {
  explicit mailbox(const asio::any_io_executor& executor) : timer(executor) {}

  /// The process may have ended meanwhile.
  static void put(const std::weak_ptr<mailbox>& box, Value value) {
    const auto found = box.lock();
    if (!found || found->content) return;
    found->content.emplace(std::move(value));
    found->timer.cancel();
  }
  awaitable<void> wait(milliseconds most) {
    timer.expires_after(most);
    boost::system::error_code cancelled;
    auto quietly = asio::redirect_error(asio::use_awaitable, cancelled);
    co_await timer.async_wait(quietly);
  }

  asio::steady_timer timer;
  std::optional<Value> content;
};

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
    : world_(around), node_(node), stores_(records), upstream_(service), scene_(played) {}

gateway::~gateway() {
  if (process_) crash();
}

void gateway::start() {
  world_.boot(node_);
  world_.on(node_, [this] {
    process_ = std::make_unique<process>(world_, node_, stores_, scene_);
    process_->engine.start(*node_.loop);
  });
  world_.events().add({.time = world_.now(),
                       .kind = event_kind::restart,
                       .machine = static_cast<std::uint8_t>(node_.index)});
}

void gateway::crash() {
  world_.events().add({.time = world_.now(),
                       .kind = event_kind::crash,
                       .machine = static_cast<std::uint8_t>(node_.index)});
  world_.on(node_, [this] { process_->engine.stop(); });
  world_.power_off(node_);
  world_.on(node_, [this] { process_.reset(); });
}

void gateway::shut_down() {
  world_.on(node_, [this] {
    auto end = [](onceguard::engine& ending) -> awaitable<void> {
      co_await ending.end_held_leases();
    };
    asio::co_spawn(*node_.loop, end(process_->engine), [](const std::exception_ptr& failure) {
      if (failure) std::rethrow_exception(failure);
    });
  });
}

std::size_t gateway::unfinished() const {
  if (!process_) return 0;
  const auto gauges = process_->engine.gauges();
  return process_->engine.pending() + gauges.leases + gauges.waiters;
}

void gateway::note(event_kind kind, const client_request& request, std::uint64_t number,
                   std::int64_t value, std::uint64_t body) {
  world_.events().add({.time = world_.now(),
                       .kind = kind,
                       .machine = static_cast<std::uint8_t>(node_.index),
                       .key = request.key->number,
                       .print = request.print,
                       .number = number,
                       .value = value,
                       .body = body});
}

void gateway::answer(const client_request& request, answer_kind kind, std::uint64_t body) {
  note(event_kind::answer, request, request.number, static_cast<std::int64_t>(kind), body);
  request.reply(kind);
}

void gateway::answer(const client_request& request, const outcome& got, std::uint64_t body) {
  const auto kind = kind_of(got);
  answer(request, kind, kind == answer_kind::ran ? body : number_of(got.answer));
}

void gateway::serve(const client_request& request) {
  note(event_kind::request, request, request.number);
  asio::co_spawn(*node_.loop, handle(request), [](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
  });
}

awaitable<void> gateway::handle(client_request request) {
  auto& engine = process_->engine;
  byte_reservation room(process_->budget);
  auto op = operation_of(request, room);
  if (const auto found = engine.find_replay(op.id, op.about->print)) {
    co_return answer(request, found->answer ? answer_kind::replay : answer_kind::gone,
                     number_of(found->answer));
  }
  auto got = co_await engine.claim(*node_.loop, std::move(op));
  if (!got.lease) co_return answer(request, got.outcome, 0);
  if (got.lease->must_probe()) {
    auto ended = co_await ask_application(request, *got.lease);
    if (ended) co_return answer(request, *ended, 0);
  }
  co_await run(request, std::move(*got.lease));
}

awaitable<void> gateway::run(const client_request& request, lease_handle lease) {
  std::uint64_t body = 0;
  auto terms = co_await do_work(request, lease, body);
  const auto ended = co_await lease.settle(std::move(terms));
  answer(request, ended, body);
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
      world_.send(upstream_.node(), node_, message_kind::work_reply,
                  [receiver, found] { mailbox<effect_report>::put(receiver, found); });
    };
    world_.send(node_, upstream_.node(), message_kind::work_request, std::move(ask));
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
  auto upload = world_.random().between(0, 3);
  if (scene_.slow_upload.count() != 0 && world_.random().chance(50)) {
    upload = world_.random().between(1, scene_.slow_upload.count());
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
  const auto executor = co_await asio::this_coro::executor;
  const auto box = std::make_shared<mailbox<work_reply>>(executor);
  note(event_kind::dispatch, request, lease.lease().token);
  const work_request work{request.key, request.print, lease.lease(), world_.now()};
  const std::weak_ptr<mailbox<work_reply>> receiver = box;
  auto arrive = [this, receiver, work] {
    upstream_.receive(work, [this, receiver](work_reply reply) {
      world_.send(upstream_.node(), node_, message_kind::work_reply,
                  [receiver, reply] { mailbox<work_reply>::put(receiver, reply); });
    });
  };
  world_.send(node_, upstream_.node(), message_kind::work_request, std::move(arrive));
  co_await box->wait(request.key->policy.upstream_timeout);
  co_return box->content;
}

}  // namespace onceguard::sim
