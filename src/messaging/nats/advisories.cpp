#include "messaging/nats/advisories.hpp"

#include "messaging/nats/api_answer.hpp"

namespace onceguard::messaging::nats {

void advisories::subscribe(const connection& server, const consumer_facts& facts) {
  // One group: of several processes on a consumer, one counts the message.
  constexpr const char* group = "onceguard";
  const auto subject =
      "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + facts.stream + '.' + facts.consumer;
  natsSubscription* made = nullptr;
  const auto status =
      natsConnection_QueueSubscribeSync(&made, server.raw(), subject.c_str(), group);
  subscription_.reset(status == NATS_OK ? made : nullptr);
}

std::vector<dropped_message> advisories::take() {
  std::vector<dropped_message> out;
  while (subscription_) {
    natsMsg* got = nullptr;
    if (natsSubscription_NextMsg(&got, subscription_.get(), 0) != NATS_OK) break;
    const message_handle held(got);
    const std::string_view body(natsMsg_GetData(got),
                                static_cast<std::size_t>(natsMsg_GetDataLength(got)));
    const auto sequence = number_in(body, "stream_seq");
    out.push_back({"stream sequence " + (sequence ? std::to_string(*sequence) : "unknown")});
  }
  return out;
}

}  // namespace onceguard::messaging::nats
