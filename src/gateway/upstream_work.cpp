// Sends a guarded request to its upstream once, and turns the answer into a settle.
#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "engine/held_bytes.hpp"
#include "gateway/buffers.hpp"
#include "gateway/message_heads.hpp"
#include "gateway/request_work.hpp"
#include "gateway/upstream_call.hpp"
#include "gateway/webhook_delivery.hpp"
#include "http/forwarded_fields.hpp"
#include "http/kept_parts.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

class upstream_work {
 public:
  upstream_work(work& job, lease_handle* lease)
      : job_(job), session_(job.client), policy_(job.policy()), lease_(lease) {}

  asio::awaitable<settle_terms> run();

 private:
  [[nodiscard]] std::string upstream_head() const;
  [[nodiscard]] bool sends_empty_chunks() const noexcept;
  settle_terms terms_after_call(call_result result);
  settle_terms terms_after_answer(call_result result);
  void settle_redirect(const answer& kept, bool by_rule, settle_terms& terms) const;
  void log_hints(std::uint16_t status, std::string_view proxy, const settle_terms& terms) const;
  /// Tells once for each route and reason that repeats get 409, and what mends it.
  void hint_unkept(const http1::head& head);
  void take_room_of(std::size_t answer_bytes);
  void keep_connection();

  work& job_;
  session& session_;
  const route_policy& policy_;
  lease_handle* const lease_;
};

std::string upstream_work::upstream_head() const {
  const auto& head = session_.head();
  const http::travel_filter filter(head.fields, policy_);
  std::string out;
  out.reserve(2'048);  // leaves room for a small body
  const auto& upstream = *session_.rule().upstream;
  if (session_.rule().rule.webhook) {
    auto changed = head;
    const auto fields = fields_without_key(head.fields);
    changed.fields = fields;
    append_upstream_head(out, changed, upstream, filter, session_.hop(), false);
    http1::append_field(out, "Idempotency-Key", '"' + job_.admitted.key + '"');
  } else {
    append_upstream_head(out, head, upstream, filter, session_.hop(), false);
  }
  const bool guarded = job_.admitted.kind == http::admission_kind::guard;
  if (guarded) {
    http1::append_field(
        out, "Onceguard-Scope",
        base::to_hex(lease_ == nullptr ? job_.admitted.scope : lease_->about().scope));
  }
  if (lease_ != nullptr) {
    http1::append_field(out, "Onceguard-Attempt", std::to_string(lease_->lease().attempt));
    http1::append_field(out, "Onceguard-Token", std::to_string(lease_->lease().token));
    http1::append_field(out, "Onceguard-Lease", lease_->text());
  } else if (guarded) {
    http1::append_field(out, "Onceguard-Unguarded", "store");
  }
  if (sends_empty_chunks()) {
    http1::append_field(out, "Transfer-Encoding", "chunked");
    http1::append_end_of_head(out);
    http1::append_last_chunk(out);
    return out;
  }
  http1::append_content_length(out, job_.body.bytes().size());
  http1::append_end_of_head(out);
  return out;
}

/// A proxy that keeps connections repeats a request without a body when one of them breaks: Varnish
/// always does, Go's net/http (Caddy, Traefik) if there is an Idempotency-Key. Of a chunked body,
/// even of an empty one, they can't know that they could send it twice.
bool upstream_work::sends_empty_chunks() const noexcept {
  if (!job_.body.bytes().empty() || job_.admitted.kind != http::admission_kind::guard) return false;
  const auto method = session_.head().method;
  const bool safe = method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
  return !safe && session_.rule().upstream->empty_body == empty_framing::chunked;
}

asio::awaitable<settle_terms> upstream_work::run() {
  auto& thread = session_.thread();
  const auto& address = session_.rule().upstream->address;
  job_.up = thread.pool.take_kept(address, true);
  if (!job_.up) {
    auto connection = co_await thread.pool.connect_onward(address);
    if (!connection) {
      co_return job_.fail({settle_kind::release, problem_of_no_connection(connection.error()),
                           unknown_reason::none, connection.error().detail});
    }
    job_.up = std::move(*connection);
  }
  job_.up->reader.answers_to(session_.head().method);
  // Made before begin_sending(), so that little time passes between the look at the lease and the
  // first byte.
  auto head = upstream_head();
  if (auto failed = job_.begin_sending(lease_)) {
    keep_connection();
    co_return job_.fail(std::move(*failed));
  }
  call_limits limits;
  limits.upstream_timeout = policy_.upstream_timeout;
  limits.write_timeout = thread.shared.params.write_timeout;
  limits.max_answer_body = policy_.max_answer_body;
  limits.readers = &thread.shared.readers;
  auto result =
      co_await call_upstream(*job_.up, std::move(head), job_.body.bytes(), limits,
                             lease_ == nullptr ? nullptr : &lease_->held(), job_.answer_room);
  co_return terms_after_call(std::move(result));
}

settle_terms upstream_work::terms_after_call(call_result result) {
  if (result.end == call_end::broken || result.end == call_end::not_sent) {
    session_.thread().pool.broke(*job_.up);
  }
  if (auto failed = failure_of(result)) {
    // So does one that closes while the end of the chunks lies unread.
    if (result.end == call_end::broken && sends_empty_chunks()) {
      failed->why +=
          "; if it knows no chunks, and no proxy stands before it, give its [[upstream]] "
          "empty_body = \"length\"";
    }
    return job_.fail(std::move(*failed));
  }
  return terms_after_answer(std::move(result));
}

void upstream_work::log_hints(std::uint16_t status, std::string_view proxy,
                              const settle_terms& terms) const {
  if (terms.kind == settle_kind::abandon && !proxy.empty()) {
    base::log(base::event::proxy_answered,
              {{"route", session_.rule().name}, {"status", status}, {"sign", proxy}});
  }
  const bool refused = status == 411 || status == 415 || status == 501;
  if (refused && sends_empty_chunks()) {
    base::log(base::event::empty_body_refused,
              {{"upstream", session_.rule().upstream->name},
               {"status", status},
               {"hint",
                "if it wants Content-Length: 0, and no proxy stands before it, give its "
                "[[upstream]] empty_body = \"length\""}});
  }
}

settle_terms upstream_work::terms_after_answer(call_result result) {
  const auto& head = job_.up->reader.head();
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
    http::keep_parts_of(policy_, session_.rule().name, terms);
    if (terms.kind == settle_kind::complete) hint_unkept(head);
    job_.begun = std::move(result.body);
    take_room_of(job_.begun->capacity());
    return terms;
  }
  for (const auto& f : head.fields) {
    const bool date = base::iequals(f.name, "date");
    const bool cookie = base::iequals(f.name, "set-cookie") && !policy_.keep_set_cookie;
    if (date || cookie) job_.extra.emplace_back(f.name, f.value);
  }
  if (!policy_.keep_body) {
    if (terms.kind == settle_kind::complete) terms.answer = std::make_shared<answer>(*kept);
    terms.kept = answer_kept::status_only;
  }
  kept->body = std::move(result.body);
  // The body may be kept for long, and the memory that was reserved ahead for a chunked body is not
  // counted.
  if (kept->body.capacity() - kept->body.size() > small_body) kept->body.shrink_to_fit();
  job_.whole = std::move(kept);
  if (policy_.keep_body && terms.kind == settle_kind::complete) terms.answer = job_.whole;
  settle_redirect(*job_.whole, by_rule, terms);
  http::keep_parts_of(policy_, session_.rule().name, terms);
  const bool twice = terms.answer != nullptr && terms.answer != job_.whole;
  take_room_of(bytes_of(*job_.whole) + (twice ? bytes_of(*terms.answer) : 0));
  if (result.request_sent) keep_connection();
  return terms;
}

void upstream_work::settle_redirect(const answer& kept, bool by_rule, settle_terms& terms) const {
  if (kept.status / 100 != 3) return;
  const auto& head = session_.head();
  const auto* host = base::find_field(head.fields, "host");
  http::settle_redirect(head.target, host == nullptr ? "" : host->value, kept, terms, by_rule);
}

void upstream_work::hint_unkept(const http1::head& head) {
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
void upstream_work::take_room_of(std::size_t answer_bytes) {
  job_.answer_room.set(answer_bytes);
  session_.rule().answers.note(answer_bytes);
}

void upstream_work::keep_connection() {
  auto& thread = session_.thread();
  // Before the first request on a connection, there is no head with keep_alive.
  const bool has_head = !job_.up->reader.idle();
  if (!has_head) return thread.pool.keep(std::move(job_.up));
  // A service that knows no chunks takes the end of the empty body for another request.
  if (sends_empty_chunks()) return;
  const auto& answer = job_.up->reader.head();
  const bool ended = answer.body == http1::body_kind::until_eof;
  if (answer.keep_alive && !ended) thread.pool.keep(std::move(job_.up));
}

}  // namespace

asio::awaitable<settle_terms> run_at_upstream(work& job, lease_handle* lease) {
  upstream_work call(job, lease);
  co_return co_await call.run();
}

}  // namespace onceguard::gateway
