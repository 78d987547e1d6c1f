#include "gateway/guarded_exchange.hpp"

#include "base/log.hpp"
#include "gateway/buffers.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/delivery.hpp"
#include "http/operation.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

guarded_exchange::guarded_exchange(session& session, http::admission admitted)
    : session_(session),
      admitted_(std::move(admitted)),
      policy_(session.rule().rule.policy),
      body_room_(session.thread().shared.budget),
      answer_room_(session.thread().shared.budget) {}

asio::awaitable<bool> guarded_exchange::serve() {
  const auto got = co_await read_body();
  if (got != body_read::whole) co_return co_await refuse_body(got);
  if (session_.scope_changed()) {
    // Under the former scope, the request would not find a twin that came after the change.
    http::problem_detail more{milliseconds(1'000)};
    co_return co_await session_.send_problem(http::problem::overloaded, std::move(more));
  }
  if (session_.rule().rule.webhook) {
    auto found = admit_delivery(session_.rule(), session_.reader().head(), body_, admitted_);
    if (found.refusal && found.may_be_answered) {
      if (auto answered = co_await find_answer()) co_return co_await answer_with(*answered);
    }
    if (found.refusal) {
      drop_body();
      http::problem_detail more{std::move(found.refusal->detail)};
      more.status = found.refusal->status;
      co_return co_await session_.refuse(found.refusal->problem, std::move(more));
    }
    if (is_queued() && !found.challenge.empty()) {
      co_return co_await answer_challenge(std::move(found.challenge));
    }
  }
  const auto input = session_.make_input(admitted_, body_);
  http::complete_key(admitted_, policy_, input);
  if (admitted_.kind != http::admission_kind::guard) co_return co_await go_unguarded();
  if (http::is_anonymous(admitted_.scope_kind)) hint_scope();

  auto op = make_operation(input);
  auto& report = session_.report();
  report.set_record(op.id, op.about->scope);
  auto& engine = session_.thread().shared.engine;
  if (auto found = engine.find_replay(op.id, op.about->print)) {
    co_return co_await answer_with(http::replay_of(std::move(*found)));
  }
  for (const auto& scope : op.scopes) {
    if (auto found = engine.find_replay(scope.id, scope.about->print)) {
      report.set_record(scope.id, scope.about->scope);
      co_return co_await answer_with(http::replay_of(std::move(*found)));
    }
  }
  body_room_.set(body_.capacity());
  client_watch client(session_);
  std::stop_source caller(std::nostopstate);
  if (policy_.on_busy == on_busy_rule::wait) {
    caller = std::stop_source();
    op.caller = caller.get_token();
    client.begin(caller);
  }
  const auto begun = report.begin_step(&http::request_report::claim_begin);
  auto claimed = co_await engine.claim(std::move(op));
  report.claim = report.since(begun);
  client.end();
  if (claimed.lease) {
    claimed.outcome = co_await work(std::move(*claimed.lease));
  } else if (claimed.outcome.kind == outcome_kind::unguarded) {
    co_await call(nullptr);
  }
  co_return co_await answer_with(std::move(claimed.outcome));
}

/// Of a request whose body was looked into for a key.
asio::awaitable<bool> guarded_exchange::go_unguarded() {
  if (admitted_.kind == http::admission_kind::refuse) {
    drop_body();
    http::problem_detail more{std::move(admitted_.detail)};
    co_return co_await session_.refuse(admitted_.refusal, std::move(more));
  }
  session_.report().outcome = http::request_outcome::unguarded;
  session_.report().why_unguarded = admitted_.why;
  co_await call(nullptr);
  drop_body();
  co_return co_await send_answer();
}

// ---- reading the request's body

asio::awaitable<guarded_exchange::body_read> guarded_exchange::read_body() {
  const auto& head = session_.reader().head();
  const auto& params = session_.thread().shared.params;
  if (session_.request_consumed()) co_return body_read::whole;
  if (head.content_length.value_or(0) > policy_.max_request_body) co_return body_read::too_large;
  if (head.expect_continue && head.minor == 1) {
    const auto sent =
        co_await session_.stream().write("HTTP/1.1 100 Continue\r\n\r\n", params.write_timeout);
    if (sent.failure) co_return body_read::gone;
  }
  for (;;) {
    auto got = session_.advance_now();
    if (got == http1::progress::need_more) got = co_await session_.advance(params.body_timeout);
    switch (got) {
      case http1::progress::body: {
        const auto piece = session_.reader().body();
        if (body_.size() + piece.size() > policy_.max_request_body) co_return body_read::too_large;
        if (!make_room_for(piece.size())) co_return body_read::no_room;
        body_ += piece;
        break;
      }
      case http1::progress::end:
        co_return body_read::whole;
      case http1::progress::error:
        co_return body_read::malformed;
      case http1::progress::need_more:
      case http1::progress::head:
        co_return session_.client_too_slow() ? body_read::too_slow : body_read::gone;
    }
  }
}

/// Unfinished requests may use only a part of the budget, because any client can send one, as
/// slowly as it likes.
bool guarded_exchange::make_room_for(std::size_t more) {
  const auto needed = body_.size() + more;
  if (needed <= body_.capacity()) return true;
  const auto most = std::min<std::uint64_t>(
      session_.reader().head().content_length.value_or(policy_.max_request_body),
      policy_.max_request_body);
  const auto size = std::max(needed, std::min<std::size_t>(most, 2 * body_.capacity()));
  const auto left =
      left_by_uploads(session_.thread().shared.budget.bytes_max(), policy_.max_request_body);
  if (size > small_body && !body_room_.grow_to(size, left)) return false;
  body_.reserve(size);
  return true;
}

void guarded_exchange::drop_body() {
  std::string().swap(body_);
  body_room_.clear();
}

asio::awaitable<bool> guarded_exchange::refuse_body(body_read why) {
  drop_body();
  switch (why) {
    case body_read::too_large: {
      http::problem_detail more{"A request with an idempotency key may have a body of up to " +
                                std::to_string(policy_.max_request_body) +
                                " bytes here. Nothing was run."};
      co_return co_await session_.refuse(http::problem::request_too_large, std::move(more));
    }
    case body_read::no_room: {
      auto more = buffers_full("a request that is still to come");
      co_return co_await session_.refuse(http::problem::overloaded, std::move(more));
    }
    case body_read::too_slow:
      co_return co_await session_.refuse(http::problem::request_timeout, http::problem_detail());
    case body_read::malformed: {
      http::problem_detail more{std::string(session_.reader().fault().text)};
      more.status = session_.reader().fault().status;
      co_return co_await session_.refuse(http::problem::bad_request, std::move(more));
    }
    case body_read::whole:
    case body_read::gone:
      break;
  }
  co_return false;
}

/// The answer of a delivery that was done in its time; none: it was not, or nobody knows.
asio::awaitable<std::optional<outcome>> guarded_exchange::find_answer() {
  const auto op = make_operation(session_.make_input(admitted_, body_));
  session_.report().set_record(op.id, op.about->scope);
  auto& shared = session_.thread().shared;
  if (auto cached = shared.engine.find_replay(op.id, op.about->print)) {
    co_return http::replay_of(std::move(*cached));
  }
  const auto found = co_await shared.engine.records().find(op.id, shared.params.store_timeout);
  if (!found || !*found || (*found)->state != observed_state::completed) co_return std::nullopt;
  const auto& stored = (*found)->stored;
  if (!stored.answer || stored.about->print != op.about->print) co_return std::nullopt;
  co_return http::replay_of({stored.answer, stored.kept});
}

// ---- making the operation

operation guarded_exchange::make_operation(const fingerprint_input& input) {
  auto op = http::make_operation(admitted_, policy_, session_.rule().name, input);
  op.upstream = session_.rule().upstream->name;
  op.answer_room = &answer_room_;
  op.usual_answer = session_.rule().answers.usual(policy_.max_answer_body);
  op.longest_answer = policy_.max_answer_body;
  return op;
}

void guarded_exchange::hint_scope() {
  const auto& route = session_.rule().name;
  if (!session_.thread().scope_hinted.insert(&session_.rule()).second) return;
  if (!session_.thread().shared.first_hint(route)) return;
  base::log(base::event::anonymous_scope,
            {{"route", route},
             {"hint",
              "a request had no Authorization, so its callers share one scope; configure scope = "
              "\"header:NAME\", \"cookie:NAME\", \"address\" or \"none\" for this route"}});
}

}  // namespace onceguard::gateway
