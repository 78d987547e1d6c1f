#include "gateway/request_kind.hpp"

#include <utility>

#include <onceguard/token_verifier.hpp>

#include "gateway/webhook_delivery.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using http::step_end;

namespace {

/// Requests with a key that their callers have made.
class keyed_request final : public request_kind {
 public:
  asio::awaitable<http::admission> admit(session& client,
                                         const http::request& request) const override {
    const auto& policy = client.rule().rule.policy;
    const auto token = http::find_token(policy, request);
    if (!token.empty() && !policy.tokens->knows(token)) {
      std::string copy(token);
      co_await client.thread().tokens->verify(policy.tokens, std::move(copy));
    }
    co_return http::admit(policy, request, client.last_scope());
  }

  [[nodiscard]] identified identify(work& job) const override {
    auto& admitted = job.admitted;
    const auto input = input_of(job.client, admitted, job.body.bytes());
    http::complete_key(admitted, job.policy(), input);
    identified out;
    out.end = http::end_of(admitted, out.refusal);
    return out;
  }
};

/// Deliveries, whose key is the id that their sender has signed.
class signed_delivery : public request_kind {
 public:
  asio::awaitable<http::admission> admit(session&, const http::request& request) const override {
    co_return http::admit_without_key(request);
  }

  [[nodiscard]] identified identify(work& job) const override {
    const auto& client = job.client;
    auto found = admit_delivery(client.rule(), client.head(), job.body.bytes(), job.admitted);
    identified out;
    out.challenge = std::move(found.challenge);
    if (!found.refusal) return out;
    out.end = found.may_be_answered ? step_end::late : step_end::refused;
    out.refusal = {found.refusal->problem, http::problem_detail(std::move(found.refusal->detail))};
    out.refusal.more.status = found.refusal->status;
    return out;
  }
};

/// Deliveries that go to a queue. Nobody behind it could answer a challenge.
class queued_delivery final : public signed_delivery {
 public:
  [[nodiscard]] identified identify(work& job) const override {
    auto out = signed_delivery::identify(job);
    if (out.end == step_end::guarded && !out.challenge.empty()) out.end = step_end::challenged;
    return out;
  }
  asio::awaitable<settle_terms> run(work& job, lease_handle* lease) const override {
    return run_in_queue(job, lease);
  }
  [[nodiscard]] std::string_view worker(const route&) const noexcept override {
    return "webhook_queue";
  }
};

}  // namespace

const request_kind& kind_of(const route& rule) noexcept {
  static const keyed_request keyed;
  static const signed_delivery delivered;
  static const queued_delivery queued;
  if (!rule.rule.webhook) return keyed;
  if (rule.rule.webhook_queue.empty()) return delivered;
  return queued;
}

}  // namespace onceguard::gateway
