#include "gateway/guarded_exchange.hpp"

#include "base/log.hpp"
<<<<<<< HEAD
#include "gateway/client_watch.hpp"
#include "gateway/probe.hpp"
#include "gateway/relay.hpp"
#include "gateway/upstream_request.hpp"
#include "http/outcome.hpp"
=======
#include "gateway/buffers.hpp"
>>>>>>> e93df6a8a7616c91071235d80bc1fb3618f4a420
#include "http/target.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

guarded_exchange::guarded_exchange(session& from, http::admission admitted)
    : from_(from),
      admitted_(std::move(admitted)),
      policy_(from.rule().rule.policy),
      body_room_(from.thread().shared.budget),
      answer_room_(from.thread().shared.budget) {}

asio::awaitable<bool> guarded_exchange::serve() {
  const auto got = co_await read_body();
  if (got != body_read::whole) co_return co_await refuse_body(got);
  if (from_.scope_changed()) {
    // Under the former scope it would not see its twin that came since then.
    http::problem_detail more{milliseconds(1'000)};
    co_return co_await from_.send_problem(http::problem::overloaded, std::move(more));
  }
  if (admitted_.scope_kind == "anonymous") hint_scope();

  auto op = make_operation();
  auto& engine = from_.thread().shared.engine;
  if (const auto found = engine.find_replay(op.id, op.about->print)) {
    co_return co_await send_stored(found->answer, found->kept);
  }
  for (const auto& place : op.places) {
    if (const auto found = engine.find_replay(place.id, place.about->print)) {
      co_return co_await send_stored(found->answer, found->kept);
    }
  }
  body_room_.set(body_.capacity());
  auto outcome = co_await engine.execute(from_.thread().io, std::move(op), *this);
  co_return co_await answer_with(std::move(outcome));
}

// ---- the request's body

asio::awaitable<guarded_exchange::body_read> guarded_exchange::read_body() {
  const auto& head = from_.reader().head();
  const auto& params = from_.thread().shared.params;
  if (from_.request_consumed()) co_return body_read::whole;
  if (head.content_length.value_or(0) > policy_.max_request_body) co_return body_read::too_large;
  if (head.expect_continue && head.minor == 1) {
    const auto sent =
        co_await from_.stream().write("HTTP/1.1 100 Continue\r\n\r\n", params.write_timeout);
    if (sent.failure) co_return body_read::gone;
  }
  for (;;) {
    auto got = from_.advance_now();
    if (got == http1::progress::need_more) got = co_await from_.advance(params.body_timeout);
    switch (got) {
      case http1::progress::body: {
        const auto piece = from_.reader().body();
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
        co_return from_.client_too_slow() ? body_read::too_slow : body_read::gone;
    }
  }
}

/// What is still to come can take but a part of the room: anybody can send it, as slowly as they
/// like.
bool guarded_exchange::make_room_for(std::size_t more) {
  const auto needed = body_.size() + more;
  if (needed <= body_.capacity()) return true;
  const auto most = std::min<std::uint64_t>(
      from_.reader().head().content_length.value_or(policy_.max_request_body),
      policy_.max_request_body);
  const auto size = std::max(needed, std::min<std::size_t>(most, 2 * body_.capacity()));
  const auto max_buffered = from_.thread().shared.budget.bytes_max();
  if (size > small_body && !body_room_.grow_to(size, left_by_uploads(max_buffered))) return false;
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
      co_return co_await from_.refuse(http::problem::request_too_large, std::move(more));
    }
    case body_read::no_room: {
      auto more = buffers_full("a request that is still to come");
      co_return co_await from_.refuse(http::problem::overloaded, std::move(more));
    }
    case body_read::too_slow:
      co_return co_await from_.refuse(http::problem::request_timeout, http::problem_detail());
    case body_read::malformed: {
      http::problem_detail more{std::string(from_.reader().fault().what)};
      more.status = from_.reader().fault().status;
      co_return co_await from_.refuse(http::problem::bad_request, std::move(more));
    }
    case body_read::whole:
    case body_read::gone:
      break;
  }
  co_return false;
}

// ---- what the engine is told

fingerprint guarded_exchange::make_print(const fingerprint_rule& rule,
                                         const http::scope_place& under) const {
  const auto& head = from_.reader().head();
  const auto target = http::split_target(head.target);
  const auto* type = base::find_field(head.fields, "content-type");
  const std::vector<std::string_view> more(under.more.begin(), under.more.end());
  fingerprint_input input;
  input.upstream = from_.rule().upstream->identity;
  input.method = head.method;
  input.path = target.path;
  input.query = target.query;
  input.content_type = type == nullptr ? std::string_view{} : type->value;
  input.body = body_;
  input.more = more;
  return make_fingerprint(rule, input);
}

result<fingerprint> guarded_exchange::remake(const subject& about, std::string_view method) {
  const auto rule = fingerprint_rule::parse(method);
  if (!rule) return rule.error();
  for (const auto& former : admitted_.former) {
    if (former.scope == about.scope) return make_print(*rule, former);
  }
  return make_print(*rule, admitted_);
}

const digest& guarded_exchange::scope_of(const held_lease& held) const {
  for (const auto& former : admitted_.former) {
    if (make_record_id(former.scope, admitted_.key) == held.id()) return former.scope;
  }
  return admitted_.scope;
}

subject_ptr guarded_exchange::make_subject(const http::scope_place& under) const {
  const auto& head = from_.reader().head();
  auto about = std::make_shared<subject>();
  about->scope = under.scope;
  about->scope_kind = under.scope_kind;
  about->key = admitted_.key;
  about->method = head.method;
  about->path = http::split_target(head.target).path;
  about->route = from_.rule().rule.host + from_.rule().rule.path;
  about->print = make_print(policy_.fingerprint, under);
  about->run_timeout = policy_.upstream_timeout;
  return about;
}

operation guarded_exchange::make_operation() {
  operation op;
  op.id = make_record_id(admitted_.scope, admitted_.key);
  op.about = make_subject(admitted_);
  if (!admitted_.former.empty()) op.places.push_back({op.id, op.about});
  for (const auto& former : admitted_.former) {
    op.places.push_back({make_record_id(former.scope, admitted_.key), make_subject(former)});
  }
  op.policy = &policy_;
  op.answer_room = &answer_room_;
  op.usual_answer = from_.rule().answers.usual(policy_.max_answer_body);
  op.longest_answer = policy_.max_answer_body;
  return op;
}

void guarded_exchange::hint_scope() {
  const auto& rule = from_.rule().rule;
  if (!from_.thread().scope_hinted.insert(&from_.rule()).second) return;
  if (!from_.thread().shared.first_hint(rule.host + rule.path)) return;
  base::log(base::log_level::warning, "anonymous-scope",
            {{"route", rule.host + rule.path},
             {"hint",
              "a request had no Authorization, so its callers share one scope; configure "
              "scope = \"header:NAME\", \"cookie:NAME\", \"address\" or \"none\" for this route"}});
}

<<<<<<< HEAD
// ---- the work

std::string guarded_exchange::upstream_head(const held_lease* held) const {
  const auto& head = from_.reader().head();
  const http::travel_filter filter(head.fields, policy_);
  std::string out;
  out.reserve(2'048);  // with a small body behind it
  append_upstream_head(out, head, *from_.rule().upstream, filter, from_.peer(),
                       from_.peer_trusted(), false);
  http1::append_field(out, "Onceguard-Scope",
                      base::to_hex(held == nullptr ? admitted_.scope : scope_of(*held)));
  if (held != nullptr) {
    http1::append_field(out, "Onceguard-Attempt", std::to_string(held->lease().attempt));
    http1::append_field(out, "Onceguard-Token", std::to_string(held->lease().token));
    http1::append_field(out, "Onceguard-Lease", held->text());
  } else {
    http1::append_field(out, "Onceguard-Unguarded", "store");
  }
  http1::append_content_length(out, body_.size());
  http1::append_end_of_head(out);
  return out;
}

asio::awaitable<settlement> guarded_exchange::run(held_lease& held) { return call(&held); }

asio::awaitable<void> guarded_exchange::run_unguarded() { co_await call(nullptr); }

bool guarded_exchange::is_awaited() { return !from_.stream().peer_has_left(); }

asio::awaitable<probe_report> guarded_exchange::ask(held_lease& held) {
  auto question = make_probe_question(policy_, scope_of(held), admitted_.key, held.lease().token);
  co_return co_await ask_application(from_.thread().pool, std::move(question), held);
}

asio::awaitable<settlement> guarded_exchange::call(held_lease* held) {
  auto& thread = from_.thread();
  own_.reset();
  extra_.clear();
  stream_begun_.reset();
  trouble_.reset();
  answer_room_.clear();
  const auto& address = from_.rule().upstream->address;
  up_ = thread.pool.take_kept(address, true);
  if (!up_) {
    auto connection = co_await thread.pool.connect(address);
    if (!connection) {
      co_return trouble(settle_kind::release, http::problem::upstream_unreachable,
                        unknown_reason::none, connection.error().detail);
    }
    up_ = std::move(*connection);
  }
  up_->reader.answers_to(from_.reader().head().method);
  auto head = upstream_head(held);
  if (held != nullptr && !held->begin_sending()) {
    keep_connection();
    co_return trouble(settle_kind::release, http::problem::overloaded, unknown_reason::none,
                      "too little of the lease was left to begin, or the gateway ends");
  }
  call_limits limits;
  limits.upstream_timeout = policy_.upstream_timeout;
  limits.write_timeout = thread.shared.params.write_timeout;
  limits.max_answer_body = policy_.max_answer_body;
  auto result = co_await call_upstream(*up_, std::move(head), body_, limits, held, answer_room_);
  co_return judge(std::move(result));
}

settlement guarded_exchange::trouble(settle_kind kind, http::problem which, unknown_reason why,
                                     std::string detail) {
  trouble_ = which;
  base::log_recurring(base::log_level::warning, http::info_of(which).type,
                      {{"upstream", from_.rule().upstream->name}, {"why", std::move(detail)}});
  settlement how;
  how.kind = kind;
  how.why = why;
  return how;
}

settlement guarded_exchange::judge(call_result result) {
  if (result.end == call_end::broken || result.end == call_end::not_sent) {
    from_.thread().pool.broke(*up_);
  }
  switch (result.end) {
    case call_end::not_sent:
      return trouble(settle_kind::release, http::problem::upstream_unreachable,
                     unknown_reason::none, "no byte of the request could be sent");
    case call_end::lease_over:
      if (!result.request_begun) {
        return trouble(settle_kind::release, http::problem::overloaded, unknown_reason::none,
                       "the lease was over before the first byte was sent");
      }
      return trouble(settle_kind::abandon, http::problem::outcome_unknown,
                     unknown_reason::holder_gone,
                     "the lease was over before all of the request was sent");
    case call_end::timed_out:
      return trouble(settle_kind::abandon, http::problem::upstream_timeout,
                     unknown_reason::upstream_timeout, "no whole answer in time");
    case call_end::broken:
      return trouble(settle_kind::abandon, http::problem::upstream_broken,
                     unknown_reason::upstream_broken, std::move(result.why));
    case call_end::upgraded:
      return trouble(settle_kind::abandon, http::problem::upstream_broken, unknown_reason::upgraded,
                     "the upstream switched protocols unasked");
    case call_end::answered:
    case call_end::too_large:
      break;
  }
  return judge_answer(std::move(result));
}

settlement guarded_exchange::judge_answer(call_result result) {
  const auto& head = up_->reader.head();
  settlement how;
  http::settle_by_status(policy_, head.status, head.fields, how);
  auto kept = std::make_shared<answer>();
  kept->status = head.status;
  http::keep_fields(head.fields, policy_.keep_set_cookie, *kept);

  if (result.end == call_end::too_large) {
    how.kept = base::find_field(head.fields, "content-length") != nullptr ? answer_kept::too_large
                                                                          : answer_kept::streamed;
    stream_begun_ = std::move(result.body);
    return how;
  }
  for (const auto& f : head.fields) {
    const bool date = base::iequals(f.name, "date");
    const bool cookie = base::iequals(f.name, "set-cookie") && !policy_.keep_set_cookie;
    if (date || cookie) extra_.emplace_back(f.name, f.value);
  }
  if (policy_.keep_body) {
    kept->body = std::move(result.body);
    own_ = std::move(kept);
    if (how.kind == settle_kind::complete) how.answer = own_;
  } else {
    if (how.kind == settle_kind::complete) how.answer = std::make_shared<answer>(*kept);
    how.kept = answer_kept::status_only;
    kept->body = std::move(result.body);
    own_ = std::move(kept);
  }
  if (result.request_sent) keep_connection();
  return how;
}

void guarded_exchange::keep_connection() {
  auto& thread = from_.thread();
  // Before anything was asked on it, there is no head that could say otherwise.
  const bool asked = !up_->reader.idle();
  if (!asked || up_->reader.head().keep_alive) thread.pool.keep(std::move(up_));
}

// ---- the answer

asio::awaitable<bool> guarded_exchange::answer_with(execution outcome) {
  using enum execution_kind;
  http::problem_detail more;
  switch (outcome.kind) {
    case ran:
    case unguarded:
      return send_own();
    case stored:
      return send_stored(std::move(outcome.answer), outcome.kept);
    case unrecorded:
      // Only where it took effect is there something that nobody would remember.
      if (outcome.settled_as != settle_kind::complete) return send_own();
      more.detail =
          "The request was carried out, but this could not be recorded yet. Send the "
          "same request with the same key again to get its answer.";
      more.retry_after = milliseconds(1'000);
      return from_.send_problem(http::problem::store_unreachable, std::move(more));
    case unsure:
      return from_.send_problem(http::problem::outcome_unknown, http::problem_detail());
    case busy:
      more.retry_after = milliseconds(1'000);
      return from_.send_problem(http::problem::in_progress, std::move(more));
    case backoff:
      more.retry_after = outcome.retry_after;
      return from_.send_problem(http::problem::backing_off, std::move(more));
    case mismatch:
      return from_.send_problem(http::problem::key_reused, http::problem_detail());
    case unknown:
      if (outcome.probed) {
        more.retry_after = outcome.retry_after;
        more.retryable_by_probe = true;
      }
      return from_.send_problem(http::problem::outcome_unknown, std::move(more));
    case store_failed:
      return send_store_failure(std::move(outcome));
  }
  return send_trouble();
}

asio::awaitable<bool> guarded_exchange::send_own() {
  if (own_) return from_.send(*own_, from_.style(), extra_);
  if (stream_begun_) return pass_on();
  return send_trouble();
}

asio::awaitable<bool> guarded_exchange::pass_on() {
  const auto begun = std::move(*stream_begun_);
  client_watch client(from_);  // what was done is settled; the rest concerns this client alone
  client.begin(*up_);
  const auto done =
      co_await relay_answer(from_, *up_, begun, from_.thread().shared.params.idle_timeout);
  if (done.begun || client.client_left()) co_return done.client_kept;
  co_return co_await send_trouble();
}

asio::awaitable<bool> guarded_exchange::send_trouble() {
  const auto which = trouble_.value_or(http::problem::upstream_broken);
  http::problem_detail more;
  if (which == http::problem::overloaded) more.retry_after = milliseconds(1'000);
  return from_.send_problem(which, std::move(more));
}

asio::awaitable<bool> guarded_exchange::send_stored(answer_ptr what, answer_kept kept) {
  const bool whole =
      what != nullptr && (kept == answer_kept::full || kept == answer_kept::status_only);
  if (!whole)
    co_return co_await from_.send_problem(http::problem::answer_not_kept, http::problem_detail());
  co_return co_await from_.send(*what, from_.style(true));
}

asio::awaitable<bool> guarded_exchange::send_store_failure(execution outcome) {
  http::problem_detail more;
  if (outcome.failure.code == errc::record_unreadable) {
    const auto id = make_record_id(admitted_.scope, admitted_.key);
    base::log_recurring(base::log_level::error, "record-unreadable",
                        {{"record", base::to_hex(id)}, {"why", outcome.failure.detail}});
    co_return co_await from_.send_problem(http::problem::record_unreadable, std::move(more));
  }
  more.retry_after = outcome.retry_after;
  base::log_recurring(base::log_level::error, "store-unreachable",
                      {{"why", outcome.failure.detail}});
  const bool full = outcome.failure.code == errc::overloaded;
  co_return co_await from_.send_problem(
      full ? http::problem::overloaded : http::problem::store_unreachable, std::move(more));
}

=======
>>>>>>> e93df6a8a7616c91071235d80bc1fb3618f4a420
}  // namespace onceguard::gateway
