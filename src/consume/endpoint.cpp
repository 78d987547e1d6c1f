#include <algorithm>

#include "base/clock.hpp"
#include "base/octets.hpp"
#include "consume/receiver.hpp"
#include "http1/client/exchange.hpp"
#include "http1/message.hpp"

namespace onceguard::consume {
namespace {

using messaging::handling;
using messaging::not_handled;

outcome_rule usual_rule(std::uint16_t status) {
  if (status >= 200 && status < 300) return outcome_rule::complete;
  const bool refused = status < 500 || status == 501 || status == 503;
  return refused ? outcome_rule::fail : outcome_rule::unknown;
}

/// What stands in a field: an id of any bytes has another form there.
std::string field_value(const handover& given) {
  const bool plain =
      std::all_of(given.id.begin(), given.id.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return plain ? given.id : given.key;
}

class endpoint final : public receiver {
 public:
  endpoint(const consume_params& params, std::string secret)
      : params_(params), address_{params.endpoint->address, {}}, secret_(std::move(secret)) {}

  handling take(const handover& given) override {
    const auto answer = http1::exchange(address_, "POST", request_of(given), params_.timeout);
    if (!answer) {
      const auto& why = answer.error();
      if (why.effect == effect::none) return not_handled(inbox_result::failed, why.detail);
      return not_handled(inbox_result::unknown, why.detail, unknown_reason::upstream_broken);
    }
    return outcome_of(answer->status);
  }

 private:
  [[nodiscard]] handling outcome_of(std::uint16_t status) const {
    const auto text = "the endpoint answered " + std::to_string(status);
    switch (rule_of(status)) {
      case outcome_rule::complete:
        return {};
      case outcome_rule::fail:
      case outcome_rule::release:
        return not_handled(inbox_result::failed, text);
      case outcome_rule::unknown:
        break;
    }
    return not_handled(inbox_result::unknown, text, unknown_reason::upstream_status, status);
  }

  [[nodiscard]] outcome_rule rule_of(std::uint16_t status) const {
    const auto exact = params_.outcome_status.find(status);
    if (exact != params_.outcome_status.end()) return exact->second;
    const auto of_class = params_.outcome_class.find(static_cast<std::uint16_t>(status / 100));
    if (of_class != params_.outcome_class.end()) return of_class->second;
    return usual_rule(status);
  }

  [[nodiscard]] std::string request_of(const handover& given) const {
    const auto& received = *given.received;
    const auto* const type = messaging::property_of(received, "content_type");
    const bool good_type = type != nullptr && base::is_field_value(*type);
    const auto id = field_value(given);
    const auto& path = params_.endpoint->path;
    std::string out;
    http1::append_request_line(out, "POST", path.empty() ? "/" : path);
    http1::append_field(out, "Host", gateway::authority_of(params_.endpoint->address));
    http1::append_field(out, "Connection", "close");
    http1::append_field(out, "Content-Type", good_type ? *type : "application/octet-stream");
    http1::append_field(out, "Idempotency-Key", id);
    http1::append_field(out, "Onceguard-Attempt", std::to_string(given.attempt));
    http1::append_field(out, "Onceguard-Subscriber", params_.subscriber);
    if (!secret_.empty()) {
      const auto now = base::wall_microseconds() / 1'000'000;
      http1::append_field(out, "webhook-id", id);
      http1::append_field(out, "webhook-timestamp", std::to_string(now));
      http1::append_field(out, "webhook-signature",
                          signature_of(secret_, id, now, received.payload));
    }
    http1::append_content_length(out, received.payload.size());
    http1::append_end_of_head(out);
    return out + received.payload;
  }

  const consume_params params_;
  const gateway::admin_address address_;
  const std::string secret_;
};

}  // namespace

std::unique_ptr<receiver> make_endpoint(const consume_params& params, std::string secret) {
  return std::make_unique<endpoint>(params, std::move(secret));
}

}  // namespace onceguard::consume
