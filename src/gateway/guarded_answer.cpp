// The part of guarded_exchange that answers the client.
#include "base/log.hpp"
#include "gateway/buffers.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/guarded_exchange.hpp"
#include "gateway/relay.hpp"
#include "gateway/replay_check.hpp"
#include "http/reply.hpp"
#include "http/stored_answer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

asio::awaitable<bool> guarded_exchange::answer_with(outcome outcome) {
  auto& report = session_.report();
  report.outcome = http::report_of(outcome, report.settled.has_value() || report.superseded);
  if (outcome.kind == outcome_kind::unguarded) report.why_unguarded = http::unguarded_reason::store;
  // From here on, the client may be slow, so the request's memory is freed now.
  drop_body();
  if (!answer_ && !stream_begun_) answer_room_.clear();
  auto reply = http::reply_to(outcome);
  switch (reply.kind) {
    case http::reply_kind::work:
      return send_answer();
    case http::reply_kind::stored:
      // Who has just run the work may have its answer.
      if (!policy_.replay_check.empty() && report.outcome != http::request_outcome::ran) {
        return send_if_granted(std::move(outcome.answer));
      }
      return send_stored(std::move(outcome.answer));
    case http::reply_kind::refusal:
      break;
  }
  if (outcome.kind == outcome_kind::no_room) reply.more = buffers_full("an answer");
  return send_refusal(std::move(reply));
}

asio::awaitable<bool> guarded_exchange::send_answer() {
  if (answer_) {
    echo_key();
    return session_.send(*answer_, session_.style(), extra_);
  }
  if (stream_begun_) return pass_on();
  return send_failure();
}

void guarded_exchange::echo_key() {
  if (!policy_.echo_key) return;
  const auto& fields = session_.reader().head().fields;
  for (const auto& source : policy_.key) {
    if (source.location != key_location::header) continue;
    if (const auto* sent = base::find_field(fields, source.header)) {
      extra_.emplace_back(source.header, sent->value);
    }
  }
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

asio::awaitable<bool> guarded_exchange::send_stored(answer_ptr answer) {
  answer = http::answer_for(std::move(answer), session_.reader().head().fields, policy_,
                            policy_.max_answer_body);
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
  extra_.clear();  // of an answer that came too late: nobody gets that one
  echo_key();
  co_return co_await session_.send(*answer, session_.style(true), extra_);
}

/// Asks the service first: the caller's rights may have ended since the first answer, or the scope
/// may be made of what nobody here has verified.
asio::awaitable<bool> guarded_exchange::send_if_granted(answer_ptr stored) {
  auto ruling = co_await check_replay(session_);
  if (ruling.right == replay_right::granted) co_return co_await send_stored(std::move(stored));
  session_.report().outcome = http::request_outcome::refused;
  if (ruling.right == replay_right::denied) {
    co_return co_await session_.send(*ruling.denial, session_.style());
  }
  http::problem_detail more{milliseconds(1'000)};
  co_return co_await session_.send_problem(http::problem::replay_unchecked, std::move(more));
}

http::problem_detail guarded_exchange::buffers_full(std::string_view for_what) const {
  auto& shared = session_.thread().shared;
  shared.readers.cut_slowest();  // for those that come next
  const auto& budget = shared.budget;
  base::log(base::event::buffers_full, {{"refused", std::string(for_what)},
                                        {"route", session_.rule().name},
                                        {"used", budget.used()},
                                        {"max_buffered", budget.bytes_max()}});
  return http::problem_detail(milliseconds(1'000));
}

asio::awaitable<bool> guarded_exchange::send_refusal(http::reply reply) {
  if (reply.which == http::problem::answer_not_kept) {
    session_.report().outcome = http::request_outcome::not_kept;
  }
  if (reply.which == http::problem::record_unreadable) {
    session_.report().outcome = http::request_outcome::store_failed;
  }
  http::log_refusal(reply, make_record_id(admitted_.scope, admitted_.key));
  return session_.send_problem(reply.which, std::move(reply.more));
}

}  // namespace onceguard::gateway
