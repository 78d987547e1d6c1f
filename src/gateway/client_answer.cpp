// How the client is answered after its operation.
#include "base/field.hpp"
#include "base/log.hpp"
#include "gateway/answer_relay.hpp"
#include "gateway/buffers.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/replay_check.hpp"
#include "gateway/request_work.hpp"
#include "http/client_reply.hpp"
#include "http/operation.hpp"
#include "http/replayed_answer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

class client_answer {
 public:
  explicit client_answer(work& job) : job_(job), session_(job.client), policy_(job.policy()) {}

  asio::awaitable<bool> run(outcome outcome);

 private:
  asio::awaitable<bool> send_answer();
  asio::awaitable<bool> pass_on();  // forwards an answer that is too large to be held
  asio::awaitable<bool> send_failure();
  asio::awaitable<bool> send_stored(answer_ptr answer);
  asio::awaitable<bool> send_if_granted(answer_ptr stored);
  asio::awaitable<bool> send_refusal(http::reply reply);
  void echo_key();

  work& job_;
  session& session_;
  const route_policy& policy_;
};

asio::awaitable<bool> client_answer::run(outcome outcome) {
  auto& report = session_.report();
  report.outcome = http::report_of(outcome, report.settled.has_value() || report.superseded);
  // From here on, the client may be slow, so the request's memory is freed now.
  job_.body.drop();
  if (!job_.whole && !job_.begun) job_.answer_room.clear();
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
  if (outcome.kind == outcome_kind::no_room) reply.more = buffers_full(session_, "an answer");
  return send_refusal(std::move(reply));
}

asio::awaitable<bool> client_answer::send_answer() {
  if (job_.whole) {
    echo_key();
    return session_.send(*job_.whole, session_.style(), job_.extra);
  }
  if (job_.begun) return pass_on();
  return send_failure();
}

void client_answer::echo_key() {
  if (!policy_.echo_key) return;
  const auto& fields = session_.head().fields;
  for (const auto& source : policy_.key) {
    if (source.location != key_location::header) continue;
    if (const auto* sent = base::find_field(fields, source.header)) {
      job_.extra.emplace_back(source.header, sent->value);
    }
  }
}

asio::awaitable<bool> client_answer::pass_on() {
  auto begun = std::move(*job_.begun);
  // The operation is settled; the rest of the answer matters only to this client.
  client_watch client(session_);
  client.begin(*job_.up);
  const auto done =
      co_await relay_answer(session_, *job_.up, std::move(begun),
                            session_.thread().shared.params.idle_timeout, &job_.answer_room);
  if (done.begun || client.client_left()) co_return done.client_kept;
  co_return co_await send_failure();
}

asio::awaitable<bool> client_answer::send_failure() {
  const auto which = job_.failure.value_or(http::problem::upstream_broken);
  http::problem_detail more;
  if (which == http::problem::overloaded) more.retry_after = milliseconds(1'000);
  return session_.send_problem(which, std::move(more));
}

asio::awaitable<bool> client_answer::send_stored(answer_ptr answer) {
  answer =
      http::answer_for(std::move(answer), session_.head().fields, policy_, policy_.max_answer_body);
  if (answer->body.size() > small_body) {
    session_.rule().answers.note_longer(answer->body.size());
    const auto id = http::id_of(job_.admitted);
    auto& shared = session_.thread().shared;
    const auto left = left_by_replays(shared.budget.bytes_max(), policy_.max_answer_body);
    answer = shared.replays.share(id, std::move(answer), left);
    if (!answer) {
      session_.report().outcome = http::request_outcome::store_failed;
      auto more = buffers_full(session_, "a replay");
      co_return co_await session_.send_problem(http::problem::overloaded, std::move(more));
    }
  }
  job_.extra.clear();  // of an answer that came too late: nobody gets that one
  echo_key();
  co_return co_await session_.send(*answer, session_.style(true), job_.extra);
}

/// Asks the service first: the caller's rights may have ended since the first answer, or the scope
/// may be made of what nobody here has verified.
asio::awaitable<bool> client_answer::send_if_granted(answer_ptr stored) {
  auto ruling = co_await check_replay(session_);
  if (ruling.right == replay_right::granted) co_return co_await send_stored(std::move(stored));
  session_.report().outcome = http::request_outcome::refused;
  if (ruling.right == replay_right::denied) {
    co_return co_await session_.send(*ruling.denial, session_.style());
  }
  http::problem_detail more{milliseconds(1'000)};
  co_return co_await session_.send_problem(http::problem::replay_unchecked, std::move(more));
}

asio::awaitable<bool> client_answer::send_refusal(http::reply reply) {
  if (reply.which == http::problem::answer_not_kept) {
    session_.report().outcome = http::request_outcome::not_kept;
  }
  if (reply.which == http::problem::record_unreadable) {
    session_.report().outcome = http::request_outcome::store_failed;
  }
  http::log_refusal(reply, http::id_of(job_.admitted));
  return session_.send_problem(reply.which, std::move(reply.more));
}

}  // namespace

asio::awaitable<bool> answer_client(work& done, outcome ended) {
  client_answer answer(done);
  co_return co_await answer.run(std::move(ended));
}

http::problem_detail buffers_full(session& client, std::string_view for_what) {
  auto& shared = client.thread().shared;
  shared.readers.cut_slowest();  // for those that come next
  const auto& budget = shared.budget;
  base::log(base::event::buffers_full, {{"refused", std::string(for_what)},
                                        {"route", client.rule().name},
                                        {"used", budget.used()},
                                        {"max_buffered", budget.bytes_max()}});
  return http::problem_detail(milliseconds(1'000));
}

}  // namespace onceguard::gateway
