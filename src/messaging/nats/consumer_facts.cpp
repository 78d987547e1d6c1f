#include "messaging/nats/consumer_facts.hpp"

#include <algorithm>

#include "base/value_text.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr std::int64_t nanoseconds_per_millisecond = 1'000'000;

milliseconds milliseconds_of(std::int64_t nanoseconds) {
  return milliseconds(nanoseconds / nanoseconds_per_millisecond);
}

/// One question to the server's API at a time.
class questions {
 public:
  questions(connection& server, time_point until) : server_(server), until_(until) {}

  result<stream_handle> stream(const std::string& name) {
    if (auto fault = prepare()) return *std::move(fault);
    jsStreamInfo* found = nullptr;
    const auto status = js_GetStreamInfo(&found, context_.get(), name.c_str(), &options_, &code_);
    stream_handle out(found);
    if (status == NATS_OK && out && out->Config != nullptr) return out;
    return error_of(status, "there is no stream " + base::quoted(name));
  }
  result<consumer_handle> consumer(const std::string& stream, const std::string& name) {
    if (auto fault = prepare()) return *std::move(fault);
    jsConsumerInfo* found = nullptr;
    const auto status =
        js_GetConsumerInfo(&found, context_.get(), stream.c_str(), name.c_str(), &options_, &code_);
    consumer_handle out(found);
    if (status == NATS_OK && out && out->Config != nullptr) return out;
    return error_of(
        status, "the stream " + base::quoted(stream) + " has no consumer " + base::quoted(name));
  }

 private:
  std::optional<error> prepare() {
    jsOptions_Init(&options_);
    options_.Wait = remaining(until_);
    if (context_) return std::nullopt;
    jsCtx* made = nullptr;
    const auto status = natsConnection_JetStream(&made, server_.raw(), &options_);
    context_.reset(made);
    if (status == NATS_OK) return std::nullopt;
    return server_.failure(status, "use JetStream");
  }
  error error_of(natsStatus status, const std::string& missing) {
    if (status == NATS_NOT_FOUND || code_ == JSStreamNotFoundErr ||
        code_ == JSConsumerNotFoundErr) {
      return server_.refusal(errc::not_found, missing);
    }
    if (status == NATS_NO_RESPONDERS || code_ == JSNotEnabledErr ||
        code_ == JSNotEnabledForAccountErr) {
      return server_.refusal(errc::conflict, "the server has no JetStream for this account");
    }
    return server_.failure(status == NATS_OK ? NATS_ERR : status, "read what the stream is");
  }

  connection& server_;
  const time_point until_;
  context_handle context_;
  jsOptions options_{};
  jsErrCode code_{};
};

/// The shortest time after which the server may deliver a message again.
milliseconds hold_of(const jsConsumerConfig& config) {
  auto shortest = config.AckWait;
  for (int i = 0; i < config.BackOffLen; ++i) shortest = std::min(shortest, config.BackOff[i]);
  return milliseconds_of(shortest);
}

/// Why the consumer does not suit; empty: it does.
std::string mismatch_of(const jsConsumerConfig& config) {
  const auto given = [](const char* text) { return text != nullptr && *text != '\0'; };
  if (given(config.DeliverSubject)) return "it is a push consumer; a pull consumer is needed";
  if (config.AckPolicy != js_AckExplicit) {
    return "its ack policy is " + std::string(config.AckPolicy == js_AckNone ? "none" : "all") +
           "; explicit is needed";
  }
  if (!given(config.Durable)) return "it is ephemeral; a durable one is needed";
  if (hold_of(config) < milliseconds(1)) return "its ack_wait is below one millisecond";
  if (config.HeadersOnly) return "it delivers the headers alone (headers_only)";
  return {};
}

}  // namespace

result<consumer_facts> read_facts(connection& server, const std::string& stream,
                                  const std::string& consumer, time_point until) {
  questions ask(server, until);
  const auto found_stream = ask.stream(stream);
  if (!found_stream) return found_stream.error();
  const auto found = ask.consumer(stream, consumer);
  if (!found) return found.error();
  const auto& config = *(*found)->Config;
  if (const auto fault = mismatch_of(config); !fault.empty()) {
    return server.refusal(errc::invalid_argument,
                          "the consumer " + base::quoted(consumer) + " does not suit: " + fault);
  }
  consumer_facts out;
  out.stream = stream;
  out.consumer = consumer;
  out.pending_max = static_cast<std::size_t>(std::max<std::int64_t>(config.MaxAckPending, 0));
  out.batch_max = static_cast<std::size_t>(std::max<std::int64_t>(config.MaxRequestBatch, 0));
  out.expires_max = milliseconds_of(std::max<std::int64_t>(config.MaxRequestExpires, 0));
  out.traits.hold = hold_of(config);
  out.traits.delays = true;
  out.traits.counts = true;
  out.traits.counts_returns = true;
  // With more than one at a time, what is delivered again comes behind later messages.
  out.traits.ordered = config.MaxAckPending == 1;
  if (config.MaxDeliver > 0) {
    out.traits.deliveries_max = static_cast<std::uint64_t>(config.MaxDeliver);
    out.traits.limit_name = "max_deliver of the consumer " + consumer + ", which -1 takes away";
  }
  const auto& kept = *(*found_stream)->Config;
  const bool bounded = kept.MaxMsgs > 0 || kept.MaxBytes > 0 || kept.MaxMsgsPerSubject > 0;
  out.discards_old = bounded && kept.Discard == js_DiscardOld;
  out.traits.redelivery =
      milliseconds_of(std::max<std::int64_t>((*found_stream)->Config->MaxAge, 0));
  return out;
}

result<std::uint64_t> count_pending(connection& server, const std::string& stream,
                                    const std::string& consumer, time_point until) {
  questions ask(server, until);
  const auto found = ask.consumer(stream, consumer);
  if (!found) return found.error();
  return (*found)->NumPending;
}

}  // namespace onceguard::messaging::nats
