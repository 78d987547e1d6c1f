#include "relay/destination.hpp"

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "consume/endpoint_request.hpp"
#include "http1/client/client.hpp"
#include "messaging/batch_publisher.hpp"

namespace onceguard::relay {
namespace {

/// A queue, an exchange, a subject, a stream, a table.
class broker final : public destination {
 public:
  explicit broker(const relay_params& params) : publisher_(params_for(params)) {}

  result<refusals> send(std::span<const outgoing> batch, const waiting& rules) override {
    std::vector<messaging::message> all;
    for (const auto& one : batch) all.push_back(one.sent);
    auto sent = publisher_.publish(all);
    // What lies at a broker that takes nothing for now would be stored once more by each attempt.
    while (publisher_.waits() && !rules.stop.stop_requested()) {
      if (rules.on_wait) rules.on_wait(sent ? first_reason(*sent) : sent.error().detail);
      sent = publisher_.wait_on(all);
    }
    return sent;
  }

 private:
  static std::string first_reason(const refusals& of_batch) {
    for (const auto& one : of_batch) {
      if (!one.empty()) return one.text;
    }
    return {};
  }

  static messaging::broker_params params_for(const relay_params& params) {
    messaging::broker_params out;
    out.url = params.broker;
    out.timeout = params.timeout;
    out.name = params.name;
    return out;
  }

  messaging::batch_publisher publisher_;
};

class endpoint final : public destination {
 public:
  endpoint(const relay_params& params, std::vector<std::string> secrets)
      : client_({params.endpoint->address, {}}, params.tls),
        form_{
            *params.endpoint, {"Onceguard-Relay", params.name}, std::move(secrets), params.headers},
        timeout_(params.timeout) {}

  result<refusals> send(std::span<const outgoing> batch, const waiting& /*rules*/) override {
    refusals out;
    for (const auto& one : batch) {
      const consume::handover given{&one.sent, one.id, base::to_hex(base::sha256_of(one.id)),
                                    one.attempt};
      const auto answer =
          client_.exchange("POST", consume::endpoint_request(form_, given), timeout_);
      if (!answer) {
        const auto why = answer.error();
        if (why.effect == effect::none) return error(errc::broker_unreachable, why.detail);
        out.emplace_back(why.detail);  // it may be this message that breaks the endpoint
        continue;
      }
      const auto text = "the endpoint answered " + std::to_string(answer->status);
      if (consume::says_away(answer->status)) {
        auto& refused = out.emplace_back(text);
        refused.away = true;
        refused.blameless = consume::says_too_many(answer->status);
        continue;
      }
      out.emplace_back(answer->status / 100 == 2 ? std::string() : text);
    }
    return out;
  }

 private:
  http1::client client_;
  const consume::endpoint_form form_;
  const milliseconds timeout_;
};

}  // namespace

std::unique_ptr<destination> make_destination(const relay_params& params,
                                              const std::vector<std::string>& secrets) {
  if (params.endpoint) return std::make_unique<endpoint>(params, secrets);
  return std::make_unique<broker>(params);
}

}  // namespace onceguard::relay
