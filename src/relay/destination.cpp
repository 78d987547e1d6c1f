#include "relay/destination.hpp"

#include "base/hash.hpp"
#include "consume/endpoint_request.hpp"
#include "http1/client/exchange.hpp"

namespace onceguard::relay {
namespace {

/// A queue, an exchange, a subject, a stream, a table.
class broker final : public destination {
 public:
  explicit broker(const relay_params& params) {
    params_.url = params.broker;
    params_.timeout = params.timeout;
    params_.name = params.name;
  }

  result<refusals> send(std::span<const outgoing> batch) override {
    std::vector<messaging::message> all;
    for (const auto& one : batch) all.push_back(one.sent);
    auto sent = publish(all);
    if (sent) return refusals(batch.size());
    if (!messaging::refuses_message(sent.error())) return sent.error();
    // One of them was refused, or several: which?
    if (batch.size() == 1) return refusals{sent.error().detail};
    refusals out;
    for (const auto& one : all) {
      auto alone = publish(std::span(&one, 1));
      if (!alone && !messaging::refuses_message(alone.error())) return alone.error();
      out.push_back(alone ? std::string() : alone.error().detail);
    }
    return out;
  }

 private:
  /// An error that refuses_message: the broker can't take one of them. Any other one: the
  /// destination is out of reach, full, or missing, which is nobody's fault but its own.
  result<void> publish(std::span<const messaging::message> batch) {
    if (publisher_ == nullptr) {
      auto opened = messaging::open_publisher(params_);
      if (!opened) return error(errc::broker_unreachable, opened.error().detail);
      publisher_ = std::move(*opened);
    }
    auto done = publisher_->publish(batch);
    if (!done) publisher_.reset();  // a refusal may have ended the connection, too
    return done;
  }

  messaging::broker_params params_;
  std::unique_ptr<messaging::publisher> publisher_;
};

/// Statuses that say nothing about the message.
bool is_away(std::uint16_t status) { return status == 429 || status == 502 || status == 503; }

class endpoint final : public destination {
 public:
  endpoint(const relay_params& params, std::string secret)
      : url_(*params.endpoint),
        address_{url_.address, {}},
        sender_("Onceguard-Relay", params.name),
        timeout_(params.timeout),
        secret_(std::move(secret)) {}

  result<refusals> send(std::span<const outgoing> batch) override {
    refusals out;
    for (const auto& one : batch) {
      const consume::handover given{&one.sent, one.id, base::to_hex(base::sha256_of(one.id)),
                                    one.attempt};
      const auto answer = http1::exchange(
          address_, "POST", consume::endpoint_request(url_, given, secret_, sender_), timeout_);
      if (!answer) {
        const auto why = answer.error();
        if (why.effect == effect::none) return why;
        out.push_back(why.detail);  // it may be this message that breaks the endpoint
        continue;
      }
      const auto text = "the endpoint answered " + std::to_string(answer->status);
      if (is_away(answer->status)) return error(errc::broker_unreachable, text, effect::unknown);
      out.push_back(answer->status / 100 == 2 ? std::string() : text);
    }
    return out;
  }

 private:
  const gateway::http_url url_;
  const gateway::admin_address address_;
  const messaging::attribute sender_;
  const milliseconds timeout_;
  const std::string secret_;
};

}  // namespace

std::unique_ptr<destination> make_destination(const relay_params& params,
                                              const std::string& secret) {
  if (params.endpoint) return std::make_unique<endpoint>(params, secret);
  return std::make_unique<broker>(params);
}

}  // namespace onceguard::relay
