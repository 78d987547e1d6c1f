// Publishes a delivery of a webhook to a queue, and answers at once.
#include <memory>

#include "base/clock.hpp"
#include "gateway/request_work.hpp"
#include "gateway/webhook_delivery.hpp"
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

/// Publishing can be repeated at any time, because whoever consumes the queue handles each id once:
/// whatever fails here releases the lease, and the sender's next try publishes again.
asio::awaitable<settle_terms> run_in_queue(work& job, lease_handle* lease) {
  auto& client = job.client;
  const auto& rule = client.rule().rule;
  if (auto failed = job.begin_sending(lease)) {
    co_return job.fail(std::move(*failed));
  }
  auto message =
      message_of(rule.webhook->about(), client.head(), job.body.take(), job.admitted.key);
  auto& queue = client.thread().shared.queues.of(rule.webhook_queue);
  const auto timeout = rule.policy.upstream_timeout;
  const auto end = base::boot_now() + timeout;
  const auto done = co_await queue.publish(std::move(message), timeout);
  if (!done) {
    call_failure failed;
    failed.kind = settle_kind::release;
    failed.problem = problem_of(done.error(), base::boot_now() >= end);
    failed.why = done.error().detail;
    co_return job.fail(std::move(failed));
  }
  job.whole = std::make_shared<answer>(accepted_answer(rule.webhook->about(), {}));
  settle_terms terms;
  terms.kind = settle_kind::complete;
  terms.answer = job.whole;
  co_return terms;
}

}  // namespace onceguard::gateway
