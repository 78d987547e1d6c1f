#include "consume/endpoint_request.hpp"
#include "consume/receiver.hpp"
#include "http1/client/client.hpp"

namespace onceguard::consume {
namespace {

using messaging::handling;
using messaging::not_handled;

outcome_rule usual_rule(std::uint16_t status) {
  if (status >= 200 && status < 300) return outcome_rule::complete;
  // Of the 5xx only these two say that nothing was done.
  const bool refused = status < 500 || status == 501 || status == 503;
  return refused ? outcome_rule::fail : outcome_rule::unknown;
}

class endpoint final : public receiver {
 public:
  endpoint(const consume_params& params, std::vector<std::string> secrets)
      : params_(params),
        client_({params.endpoint->address, {}}, params.tls),
        form_{*params.endpoint,
              {"Onceguard-Subscriber", params.subscriber},
              std::move(secrets),
              params.headers} {}

  handling take(const handover& given) override {
    const auto answer = client_.exchange("POST", endpoint_request(form_, given), params_.timeout);
    if (!answer) {
      const auto& why = answer.error();
      if (why.effect == effect::none) {
        return away(not_handled(inbox_result::failed, why.detail), true);
      }
      return not_handled(inbox_result::unknown, why.detail, unknown_reason::upstream_broken);
    }
    return outcome_of(answer->status);
  }

 private:
  static handling away(handling out, bool blameless) {
    out.away = true;
    out.blameless = blameless;
    return out;
  }

  [[nodiscard]] handling outcome_of(std::uint16_t status) const {
    const auto rule = rule_of(status);
    if (rule == outcome_rule::complete) return {};
    const auto text = "the endpoint answered " + std::to_string(status);
    auto out = rule == outcome_rule::unknown ? not_handled(inbox_result::unknown, text,
                                                           unknown_reason::upstream_status, status)
                                             : not_handled(inbox_result::failed, text);
    return says_away(status) ? away(std::move(out), says_too_many(status)) : out;
  }

  [[nodiscard]] outcome_rule rule_of(std::uint16_t status) const {
    const auto exact = params_.outcome_status.find(status);
    if (exact != params_.outcome_status.end()) return exact->second;
    const auto of_class = params_.outcome_class.find(static_cast<std::uint16_t>(status / 100));
    if (of_class != params_.outcome_class.end()) return of_class->second;
    return usual_rule(status);
  }

  const consume_params params_;
  http1::client client_;
  const endpoint_form form_;
};

}  // namespace

std::unique_ptr<receiver> make_endpoint_receiver(const consume_params& params,
                                                 std::vector<std::string> secrets) {
  return std::make_unique<endpoint>(params, std::move(secrets));
}

}  // namespace onceguard::consume
