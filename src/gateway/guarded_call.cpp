// The part of guarded_exchange that does the work: sends the request to its upstream once, and
// turns the answer into a settle.
#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/held_bytes.hpp"
#include "gateway/buffers.hpp"
#include "gateway/delivery.hpp"
#include "gateway/guarded_exchange.hpp"
#include "gateway/probe.hpp"
#include "gateway/upstream_call.hpp"
#include "gateway/upstream_head.hpp"
#include "http/forwarding.hpp"
#include "http/outcome.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

asio::awaitable<outcome> guarded_exchange::work(lease_handle lease) {
  auto& report = session_.report();
  report.set_record(lease.id(), lease.about().scope);
  report.attempt = lease.lease().attempt;
  if (lease.must_probe()) {
    auto question =
        make_probe_question(policy_, lease.about().scope, admitted_.key, lease.lease().token);
    auto found =
        co_await ask_application(session_.thread().pool, std::move(question), lease.held());
    if (auto outcome = co_await lease.conclude(std::move(found))) co_return std::move(*outcome);
  }
  auto terms = co_await call(&lease);
  const auto settled_as = terms.kind;
  const auto unknown_why = terms.why;
  const auto begun = report.begin_step(&http::request_report::settle_begin);
  auto out = co_await lease.settle(std::move(terms));
  report.settle = report.since(begun);
  report.superseded = out.superseded && report.sent();
  if (out.superseded) co_return out;
  if (out.kind == outcome_kind::ran) report.settled = settled_as;
  if (report.settled == settle_kind::abandon) report.unknown_why = unknown_why;
  if (out.kind == outcome_kind::replay) report.settled = settle_kind::complete;
  co_return out;
}

std::string guarded_exchange::upstream_head(const lease_handle* lease) const {
  const auto& head = session_.reader().head();
  const http::travel_filter filter(head.fields, policy_);
  std::string out;
  out.reserve(2'048);  // leaves room for a small body
  const auto& upstream = *session_.rule().upstream;
  if (session_.rule().rule.webhook) {
    auto changed = head;
    const auto fields = fields_without_key(head.fields);
    changed.fields = fields;
    append_upstream_head(out, changed, upstream, filter, session_.hop(), false);
    http1::append_field(out, "Idempotency-Key", '"' + admitted_.key + '"');
  } else {
    append_upstream_head(out, head, upstream, filter, session_.hop(), false);
  }
  const bool guarded = admitted_.kind == http::admission_kind::guard;
  if (guarded) {
    http1::append_field(out, "Onceguard-Scope",
                        base::to_hex(lease == nullptr ? admitted_.scope : lease->about().scope));
  }
  if (lease != nullptr) {
    http1::append_field(out, "Onceguard-Attempt", std::to_string(lease->lease().attempt));
    http1::append_field(out, "Onceguard-Token", std::to_string(lease->lease().token));
    http1::append_field(out, "Onceguard-Lease", lease->text());
  } else if (guarded) {
    http1::append_field(out, "Onceguard-Unguarded", "store");
  }
  if (sends_empty_chunks()) {
    http1::append_field(out, "Transfer-Encoding", "chunked");
    http1::append_end_of_head(out);
    http1::append_last_chunk(out);
    return out;
  }
  http1::append_content_length(out, body_.size());
  http1::append_end_of_head(out);
  return out;
}

/// A proxy that keeps connections repeats a request without a body when one of them breaks: Varnish
/// always does, Go's net/http (Caddy, Traefik) if there is an Idempotency-Key. Of a chunked body,
/// even of an empty one, they can't know that they could send it twice.
bool guarded_exchange::sends_empty_chunks() const noexcept {
  if (!body_.empty() || admitted_.kind != http::admission_kind::guard) return false;
  const auto method = session_.reader().head().method;
  const bool safe = method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
  return !safe && session_.rule().upstream->empty_body == empty_framing::chunked;
}

/// Sends the request to its upstream once; `lease` is null if no record guards the request.
asio::awaitable<settle_terms> guarded_exchange::call(lease_handle* lease) {
  auto& report = session_.report();
  const auto begun = report.begin_step(&http::request_report::upstream_begin);
  report.upstream = upstream_name();
  settle_terms terms;
  if (is_queued()) {
    terms = co_await hand_over(lease);
  } else {
    terms = co_await send_once(lease);
  }
  report.upstream_time = report.since(begun);
  co_return terms;
}

asio::awaitable<settle_terms> guarded_exchange::send_once(lease_handle* lease) {
  auto& thread = session_.thread();
  answer_.reset();
  extra_.clear();
  stream_begun_.reset();
  failure_.reset();
  const auto& address = session_.rule().upstream->address;
  up_ = thread.pool.take_kept(address, true);
  if (!up_) {
    auto connection = co_await thread.pool.connect_onward(address);
    if (!connection) {
      co_return fail_with({settle_kind::release, problem_of_no_connection(connection.error()),
                           unknown_reason::none, connection.error().detail});
    }
    up_ = std::move(*connection);
  }
  up_->reader.answers_to(session_.reader().head().method);
  auto head = upstream_head(lease);
  if (lease != nullptr && !lease->begin_sending()) {
    keep_connection();
    co_return fail_with({settle_kind::release, http::problem::overloaded, unknown_reason::none,
                         "too little of the lease was left to begin, or the gateway ends"});
  }
  if (lease != nullptr) session_.report().begin_sending();
  call_limits limits;
  limits.upstream_timeout = policy_.upstream_timeout;
  limits.write_timeout = thread.shared.params.write_timeout;
  limits.max_answer_body = policy_.max_answer_body;
  limits.readers = &thread.shared.readers;
  auto result = co_await call_upstream(*up_, std::move(head), body_, limits,
                                       lease == nullptr ? nullptr : &lease->held(), answer_room_);
  co_return terms_after_call(std::move(result));
}

std::string_view guarded_exchange::upstream_name() const noexcept {
  return is_queued() ? std::string_view("webhook_queue") : session_.rule().upstream->name;
}

settle_terms guarded_exchange::fail_with(call_failure failed) {
  failure_ = failed.problem;
  base::log(http::event_of(failed.problem),
            {{"upstream", upstream_name()}, {"why", std::move(failed.why)}});
  settle_terms terms;
  terms.kind = failed.kind;
  terms.why = failed.reason;
  return terms;
}

settle_terms guarded_exchange::terms_after_call(call_result result) {
  if (result.end == call_end::broken || result.end == call_end::not_sent) {
    session_.thread().pool.broke(*up_);
  }
  if (auto failed = failure_of(result)) {
    // So does one that closes while the end of the chunks lies unread.
    if (result.end == call_end::broken && sends_empty_chunks()) {
      failed->why +=
          "; if it knows no chunks, and no proxy stands before it, give its [[upstream]] "
          "empty_body = \"length\"";
    }
    return fail_with(std::move(*failed));
  }
  return terms_after_answer(std::move(result));
}

void guarded_exchange::log_hints(std::uint16_t status, std::string_view proxy,
                                 const settle_terms& terms) const {
  if (terms.kind == settle_kind::abandon && !proxy.empty()) {
    base::log(base::event::proxy_answered,
              {{"route", session_.rule().name}, {"status", status}, {"sign", proxy}});
  }
  const bool refused = status == 411 || status == 415 || status == 501;
  if (refused && sends_empty_chunks()) {
    base::log(base::event::empty_body_refused,
              {{"upstream", upstream_name()},
               {"status", status},
               {"hint",
                "if it wants Content-Length: 0, and no proxy stands before it, give its "
                "[[upstream]] empty_body = \"length\""}});
  }
}

settle_terms guarded_exchange::terms_after_answer(call_result result) {
  const auto& head = up_->reader.head();
  session_.report().upstream_status = head.status;
  settle_terms terms;
  const bool whole = result.end == call_end::answered;
  const auto body = whole ? std::optional<std::string_view>(result.body) : std::nullopt;
  auto& naming = session_.rule().naming;
  const auto proxy =
      http::sign_of_another(head.status, head.fields, naming.lacks_name(head.fields), body);
  naming.note(head.status, head.fields);
  const bool by_rule =
      http::settle_by_answer(policy_, {head.status, head.fields, body, proxy}, terms);
  log_hints(head.status, proxy, terms);
  auto kept = std::make_shared<answer>();
  kept->status = head.status;
  http::keep_fields(head.fields, policy_.keep_set_cookie, *kept);

  if (result.end == call_end::too_large) {
    terms.kept = base::find_field(head.fields, "content-length") != nullptr ? answer_kept::too_large
                                                                            : answer_kept::streamed;
    settle_redirect(*kept, by_rule, terms);
    if (terms.kind == settle_kind::complete) hint_unkept(head);
    stream_begun_ = std::move(result.body);
    take_room_of(stream_begun_->capacity());
    return terms;
  }
  for (const auto& f : head.fields) {
    const bool date = base::iequals(f.name, "date");
    const bool cookie = base::iequals(f.name, "set-cookie") && !policy_.keep_set_cookie;
    if (date || cookie) extra_.emplace_back(f.name, f.value);
  }
  if (!policy_.keep_body) {
    if (terms.kind == settle_kind::complete) terms.answer = std::make_shared<answer>(*kept);
    terms.kept = answer_kept::status_only;
  }
  kept->body = std::move(result.body);
  // The body may be kept for long, and the memory that was reserved ahead for a chunked body is not
  // counted.
  if (kept->body.capacity() - kept->body.size() > small_body) kept->body.shrink_to_fit();
  answer_ = std::move(kept);
  if (policy_.keep_body && terms.kind == settle_kind::complete) terms.answer = answer_;
  settle_redirect(*answer_, by_rule, terms);
  take_room_of(bytes_of(*answer_));
  if (result.request_sent) keep_connection();
  return terms;
}

void guarded_exchange::settle_redirect(const answer& kept, bool by_rule,
                                       settle_terms& terms) const {
  if (kept.status / 100 != 3) return;
  const auto& head = session_.reader().head();
  const auto* host = base::find_field(head.fields, "host");
  http::settle_redirect(head.target, host == nullptr ? "" : host->value, kept, terms, by_rule);
}

void guarded_exchange::hint_unkept(const http1::head& head) {
  struct cause {
    std::string_view why;
    std::string_view hint;
  };
  constexpr cause endless{
      "it has no length, and ends only with the connection",
      "let the service send Content-Length, or chunked framing in HTTP/1.1 (php -S, wsgiref: set "
      "Content-Length in the application): then it is known to be whole"};
  constexpr cause stream{"it is text/event-stream", "let the service answer with a document"};
  constexpr cause longer{"it is longer than max_answer_body",
                         "raise max_answer_body of this route"};
  const auto& met = head.body == http1::body_kind::until_eof ? endless
                    : http::is_event_stream(head.fields)     ? stream
                                                             : longer;
  const auto& route = session_.rule().name;
  if (!session_.thread().shared.first_hint(route + '\n' + std::string(met.why))) return;
  base::log(base::event::answer_not_kept, {{"route", route},
                                           {"upstream", session_.rule().upstream->name},
                                           {"why", met.why},
                                           {"hint", met.hint}});
}

/// The operation ran, so its answer is kept even if the budget has no room for it.
void guarded_exchange::take_room_of(std::size_t answer_bytes) {
  answer_room_.set(answer_bytes);
  session_.rule().answers.note(answer_bytes);
}

void guarded_exchange::keep_connection() {
  auto& thread = session_.thread();
  // Before the first request on a connection, there is no head with keep_alive.
  const bool has_head = !up_->reader.idle();
  if (!has_head) return thread.pool.keep(std::move(up_));
  // A service that knows no chunks takes the end of the empty body for another request.
  if (sends_empty_chunks()) return;
  const auto& answer = up_->reader.head();
  const bool ended = answer.body == http1::body_kind::until_eof;
  if (answer.keep_alive && !ended) thread.pool.keep(std::move(up_));
}

}  // namespace onceguard::gateway
