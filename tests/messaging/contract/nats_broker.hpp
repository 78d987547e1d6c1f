// JetStream for the contract suite, and what its tests make there: streams, consumers, and messages
// as other programs send them.
#pragma once
#include <functional>
#include <memory>
#include <nats/nats.h>
#include <stdexcept>
#include <string>
#include <utility>

#include "messaging/contract/broker_server.hpp"
#include "support/nats_server.hpp"

namespace onceguard::testing {

/// A connection by libnats alone. Its calls throw.
class nats_session {
 public:
  using stream_setter = std::function<void(jsStreamConfig&)>;
  using consumer_setter = std::function<void(jsConsumerConfig&)>;

  explicit nats_session(const std::string& url) {
    require(natsConnection_ConnectTo(&connection_, url.c_str()), "connect");
    require(natsConnection_JetStream(&context_, connection_, nullptr), "use JetStream");
  }
  nats_session(const nats_session&) = delete;
  nats_session& operator=(const nats_session&) = delete;
  ~nats_session() {
    jsCtx_Destroy(context_);
    natsConnection_Destroy(connection_);
  }

  /// With the one subject `NAME.>`.
  void add_stream(const std::string& name, const stream_setter& set = {}) const {
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    const auto subject = name + ".>";
    const char* subjects[]{subject.c_str()};
    config.Name = name.c_str();
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    if (set) set(config);
    require(js_AddStream(nullptr, context_, &config, nullptr, nullptr), "add a stream");
  }
  /// A durable pull consumer.
  void add_consumer(const std::string& stream, const std::string& name, milliseconds hold,
                    const consumer_setter& set = {}) const {
    jsConsumerConfig config;
    jsConsumerConfig_Init(&config);
    config.Durable = name.c_str();
    config.AckPolicy = js_AckExplicit;
    config.AckWait = std::chrono::nanoseconds(hold).count();
    if (set) set(config);
    require(js_AddConsumer(nullptr, context_, stream.c_str(), &config, nullptr, nullptr),
            "add a consumer");
  }
  void delete_consumer(const std::string& stream, const std::string& name) const {
    require(js_DeleteConsumer(context_, stream.c_str(), name.c_str(), nullptr, nullptr),
            "delete a consumer");
  }
  [[nodiscard]] std::uint64_t messages_in(const std::string& stream) const {
    jsStreamInfo* info = nullptr;
    require(js_GetStreamInfo(&info, context_, stream.c_str(), nullptr, nullptr), "read a stream");
    const auto out = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return out;
  }
  /// How many requests wait at the consumer of this URL.
  [[nodiscard]] std::int64_t waiting_at(const std::string& url) const {
    const auto second = url.rfind('/');
    const auto first = url.rfind('/', second - 1);
    const auto stream = url.substr(first + 1, second - first - 1);
    jsConsumerInfo* info = nullptr;
    require(js_GetConsumerInfo(&info, context_, stream.c_str(), url.c_str() + second + 1, nullptr,
                               nullptr),
            "read a consumer");
    const auto out = info->NumWaiting;
    jsConsumerInfo_Destroy(info);
    return out;
  }

 private:
  static void require(natsStatus status, const std::string& action) {
    if (status == NATS_OK) return;
    throw std::runtime_error("can't " + action + ": " + nats_GetLastError(nullptr));
  }

  natsConnection* connection_ = nullptr;
  jsCtx* context_ = nullptr;
};

class nats_broker final : public broker_server {
 public:
  static constexpr milliseconds hold{2'000};
  static constexpr milliseconds patient_hold{60'000};

  explicit nats_broker(const std::string& settings = {}) : server_(settings) {}

  [[nodiscard]] test_queue make_queue() override { return queue_held_for(hold); }
  [[nodiscard]] test_queue make_patient_queue() override { return queue_held_for(patient_hold); }
  [[nodiscard]] std::string missing_url() override { return server_.url("/missing/reader"); }
  void stop() override { server_.stop(SIGKILL); }
  void start() override { server_.start(); }
  void pause() override { server_.pause(); }
  void go_on() override { server_.go_on(); }

  [[nodiscard]] nats_server& server() noexcept { return server_; }
  [[nodiscard]] nats_session session() const { return nats_session(server_.url()); }
  /// A new one: its name.
  std::string add_stream(const nats_session::stream_setter& set = {}) {
    auto name = "stream" + std::to_string(++streams_);
    session().add_stream(name, set);
    return name;
  }
  [[nodiscard]] test_queue queue_of(const std::string& stream) const {
    return {server_.url('/' + stream + "/reader"), server_.url('/' + stream + ".all"), {}};
  }

 private:
  [[nodiscard]] test_queue queue_held_for(milliseconds held_for) {
    const auto stream = add_stream();
    nats_session(server_.url()).add_consumer(stream, "reader", held_for);
    return queue_of(stream);
  }

  nats_server server_;
  int streams_ = 0;
};

}  // namespace onceguard::testing
