// The part of guarded_exchange that publishes a delivery of a webhook to a queue, and answers at
// once.
#include <memory>

#include "base/clock.hpp"
#include "gateway/delivery.hpp"
#include "gateway/guarded_exchange.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

/// "Nothing was sent" is said only where that is known.
http::problem problem_of(const error& why, bool late) {
  if (why.effect == effect::none) return http::problem::upstream_unreachable;
  return late ? http::problem::upstream_timeout : http::problem::upstream_broken;
}

}  // namespace

/// The sender checks the address, and delivers nothing.
asio::awaitable<bool> guarded_exchange::answer_challenge(std::string challenge) {
  drop_body();
  session_.report().outcome = http::request_outcome::ran;
  const auto reply = accepted_answer(session_.rule().rule.webhook->about(), std::move(challenge));
  co_return co_await session_.send(reply, session_.style());
}

/// Publishing can be repeated at any time, because whoever consumes the queue handles each id once:
/// whatever fails here releases the lease, and the sender's next try publishes again.
asio::awaitable<settle_terms> guarded_exchange::hand_over(lease_handle* lease) {
  const auto& rule = session_.rule().rule;
  const auto failed = [](std::string why, http::problem problem) {
    return call_failure{settle_kind::release, problem, unknown_reason::none, std::move(why)};
  };
  if (lease != nullptr && !lease->begin_sending()) {
    co_return fail_with(failed("too little of the lease was left to begin, or the gateway ends",
                               http::problem::overloaded));
  }
  if (lease != nullptr) session_.report().begin_sending();
  auto message =
      message_of(rule.webhook->about(), session_.reader().head(), std::move(body_), admitted_.key);
  auto& queue = session_.thread().shared.queues.of(rule.webhook_queue);
  const auto end = base::boot_now() + policy_.upstream_timeout;
  const auto done = co_await queue.publish(std::move(message), policy_.upstream_timeout);
  if (!done) {
    const auto problem = problem_of(done.error(), base::boot_now() >= end);
    co_return fail_with(failed(done.error().detail, problem));
  }
  answer_ = std::make_shared<answer>(accepted_answer(rule.webhook->about(), {}));
  settle_terms terms;
  terms.kind = settle_kind::complete;
  terms.answer = answer_;
  co_return terms;
}

}  // namespace onceguard::gateway
