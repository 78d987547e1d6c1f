// The part of guarded_exchange that answers the client.
#include "base/hash.hpp"
#include "base/log.hpp"
#include "gateway/buffers.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/guarded_exchange.hpp"
#include "gateway/relay.hpp"
#include "http/forwarding.hpp"
#include "http1/message.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

void guarded_exchange::report_outcome(const outcome& outcome) noexcept {
  using got = http::request_outcome;
  auto& report = session_.report();
  switch (outcome.kind) {
    case outcome_kind::granted:
    case outcome_kind::ran:
      report.outcome = got::ran;
      break;
    case outcome_kind::replay:
      // With an outcome of the work, the application has completed the record itself, or another
      // lease has.
      report.outcome = report.settled || report.superseded ? got::ran
                       : outcome.waited                    ? got::waited
                                                           : got::replayed;
      break;
    case outcome_kind::unrecorded:
      report.outcome = outcome.settled_as == settle_kind::complete ? got::store_failed : got::ran;
      break;
    case outcome_kind::busy:
      report.outcome = got::busy;
      break;
    case outcome_kind::backoff:
      report.outcome = got::backoff;
      break;
    case outcome_kind::mismatch:
      report.outcome = got::mismatch;
      break;
    case outcome_kind::superseded:
      report.outcome = report.superseded ? got::ran : got::unknown;
      break;
    case outcome_kind::unknown:
      report.outcome = got::unknown;
      break;
    case outcome_kind::no_room:
    case outcome_kind::store_failed:
      report.outcome = got::store_failed;
      break;
    case outcome_kind::unguarded:
      report.outcome = got::unguarded;
      report.why_unguarded = http::unguarded_reason::store;
      break;
  }
}

asio::awaitable<bool> guarded_exchange::answer_with(outcome outcome) {
  using enum outcome_kind;
  report_outcome(outcome);
  // From here on, the client may be slow, so the request's memory is freed now.
  drop_body();
  if (!answer_ && !stream_begun_) answer_room_.clear();
  http::problem_detail more;
  switch (outcome.kind) {
    case ran:
    case unguarded:
      return send_answer();
    case replay:
      return send_stored(std::move(outcome.answer), outcome.kept);
    case unrecorded:
      // Only a completed operation must be recorded before its answer is sent.
      if (outcome.settled_as != settle_kind::complete) return send_answer();
      more.detail =
          "The request was carried out, but this could not be recorded yet. Send the "
          "same request with the same key again to get its answer.";
      more.retry_after = milliseconds(1'000);
      return session_.send_problem(http::problem::store_unreachable, std::move(more));
    case superseded:
      return session_.send_problem(http::problem::outcome_unknown, http::problem_detail());
    case busy:
      more.retry_after = milliseconds(1'000);
      return session_.send_problem(http::problem::in_progress, std::move(more));
    case backoff:
      more.retry_after = outcome.retry_after;
      return session_.send_problem(http::problem::backing_off, std::move(more));
    case mismatch:
      return session_.send_problem(http::problem::key_reused, http::problem_detail());
    case unknown:
      if (outcome.probed) {
        more.retry_after = outcome.retry_after;
        more.retryable_by_probe = true;
      }
      return session_.send_problem(http::problem::outcome_unknown, std::move(more));
    case no_room:
      return session_.send_problem(http::problem::overloaded, buffers_full("an answer"));
    case store_failed:
      return send_store_failure(std::move(outcome));
    case granted:
      break;
  }
  return send_failure();
}

asio::awaitable<bool> guarded_exchange::send_answer() {
  if (answer_) return session_.send(*answer_, session_.style(), extra_);
  if (stream_begun_) return pass_on();
  return send_failure();
}

asio::awaitable<bool> guarded_exchange::pass_on() {
  auto begun = std::move(*stream_begun_);
  // The operation is settled; the rest of the answer matters only to this client.
  client_watch client(session_);
  client.begin(*up_);
  const auto done =
      co_await relay_answer(session_, *up_, std::move(begun),
                            session_.thread().shared.params.idle_timeout, &answer_room_);
  if (done.begun || client.client_left()) co_return done.client_kept;
  co_return co_await send_failure();
}

asio::awaitable<bool> guarded_exchange::send_failure() {
  const auto which = failure_.value_or(http::problem::upstream_broken);
  http::problem_detail more;
  if (which == http::problem::overloaded) more.retry_after = milliseconds(1'000);
  return session_.send_problem(which, std::move(more));
}

namespace {

/// Why an answer that an application or a person stored can't be sent; empty: it can.
std::string fault_of(const answer& stored) {
  if (stored.status < 200 || stored.status > 999) {
    return "its status " + std::to_string(stored.status) + " is none of a final answer";
  }
  for (const auto& [name, value] : stored.headers) {
    if (!http1::is_token(name)) return "the name of a header field is malformed";
    if (!http1::is_field_value(value)) return "the field " + name + " holds a control character";
    if (http::is_hop_by_hop(name) || base::iequals(name, "content-length")) {
      return "the field " + name + " belongs to a connection, not to an answer";
    }
  }
  return {};
}

}  // namespace

asio::awaitable<bool> guarded_exchange::send_stored(answer_ptr answer, answer_kept kept) {
  const bool whole =
      answer != nullptr && (kept == answer_kept::full || kept == answer_kept::status_only);
  if (!whole) {
    session_.report().outcome = http::request_outcome::not_kept;
    co_return co_await session_.send_problem(http::problem::answer_not_kept,
                                             http::problem_detail());
  }
  if (auto fault = fault_of(*answer); !fault.empty()) {
    outcome unsendable;
    unsendable.failure = error(errc::record_unreadable, "its answer can't be sent: " + fault);
    co_return co_await send_store_failure(std::move(unsendable));
  }
  if (answer->body.size() > small_body) {
    session_.rule().answers.note_longer(answer->body.size());
    const auto id = make_record_id(admitted_.scope, admitted_.key);
    auto& shared = session_.thread().shared;
    const auto left = left_by_replays(shared.budget.bytes_max(), policy_.max_answer_body);
    answer = shared.replays.share(id, std::move(answer), left);
    if (!answer) {
      session_.report().outcome = http::request_outcome::store_failed;
      auto more = buffers_full("a replay");
      co_return co_await session_.send_problem(http::problem::overloaded, std::move(more));
    }
  }
  co_return co_await session_.send(*answer, session_.style(true));
}

http::problem_detail guarded_exchange::buffers_full(std::string_view for_what) const {
  const auto& budget = session_.thread().shared.budget;
  base::log(base::event::buffers_full, {{"refused", std::string(for_what)},
                                        {"route", session_.rule().name},
                                        {"used", budget.used()},
                                        {"max_buffered", budget.bytes_max()}});
  return http::problem_detail(milliseconds(1'000));
}

asio::awaitable<bool> guarded_exchange::send_store_failure(outcome outcome) {
  session_.report().outcome = http::request_outcome::store_failed;
  http::problem_detail more;
  if (outcome.failure.code == errc::record_unreadable) {
    const auto id = make_record_id(admitted_.scope, admitted_.key);
    base::log(base::event::record_unreadable,
              {{"record", base::digest_text(id)}, {"why", outcome.failure.detail}});
    co_return co_await session_.send_problem(http::problem::record_unreadable, std::move(more));
  }
  more.retry_after = outcome.retry_after;
  // The engine logs the beginning and the end of an outage.
  if (outcome.failure.code != errc::store_unreachable) {
    base::log(base::event::store_refused, {{"why", outcome.failure.detail}});
  }
  const bool full = outcome.failure.code == errc::overloaded;
  co_return co_await session_.send_problem(
      full ? http::problem::overloaded : http::problem::store_unreachable, std::move(more));
}

}  // namespace onceguard::gateway
