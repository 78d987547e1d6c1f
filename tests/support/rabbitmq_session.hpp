// What tests do on a RabbitMQ server besides what they test: over librabbitmq's own calls.
#pragma once
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace onceguard::testing {

class rabbitmq_session {
 public:
  using numbers = std::vector<std::pair<std::string, std::int32_t>>;
  using texts = std::vector<std::pair<std::string, std::string>>;

  /// Throws where the server can't be reached, as all calls do.
  explicit rabbitmq_session(int port) : state_(amqp_new_connection()) {
    timeval limit{5, 0};
    auto* const socket = amqp_tcp_socket_new(state_.get());
    if (amqp_socket_open_noblock(socket, "127.0.0.1", port, &limit) != AMQP_STATUS_OK) {
      throw std::runtime_error("RabbitMQ: no connection");
    }
    amqp_set_handshake_timeout(state_.get(), &limit);
    amqp_set_rpc_timeout(state_.get(), &limit);
    check(amqp_login(state_.get(), "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                     "guest", "guest"));
    amqp_channel_open(state_.get(), 1);
    check();
  }

  /// A durable queue.
  void declare_queue(const std::string& name, const texts& arguments, const numbers& more = {}) {
    std::vector<amqp_table_entry_t> entries;
    for (const auto& [key, value] : arguments) {
      amqp_table_entry_t entry{};
      entry.key = amqp_cstring_bytes(key.c_str());
      entry.value.kind = AMQP_FIELD_KIND_UTF8;
      entry.value.value.bytes = amqp_cstring_bytes(value.c_str());
      entries.push_back(entry);
    }
    for (const auto& [key, value] : more) {
      amqp_table_entry_t entry{};
      entry.key = amqp_cstring_bytes(key.c_str());
      entry.value.kind = AMQP_FIELD_KIND_I32;
      entry.value.value.i32 = value;
      entries.push_back(entry);
    }
    amqp_queue_declare(state_.get(), 1, amqp_cstring_bytes(name.c_str()), 0, 1, 0, 0,
                       {static_cast<int>(entries.size()), entries.data()});
    check();
  }
  /// A durable queue that refuses what is beyond `most` messages.
  void declare_full_queue(const std::string& name, std::int32_t most) {
    std::array<amqp_table_entry_t, 2> entries{};
    entries[0].key = amqp_cstring_bytes("x-max-length");
    entries[0].value.kind = AMQP_FIELD_KIND_I32;
    entries[0].value.value.i32 = most;
    entries[1].key = amqp_cstring_bytes("x-overflow");
    entries[1].value.kind = AMQP_FIELD_KIND_UTF8;
    entries[1].value.value.bytes = amqp_cstring_bytes("reject-publish");
    amqp_queue_declare(state_.get(), 1, amqp_cstring_bytes(name.c_str()), 0, 1, 0, 0,
                       {static_cast<int>(entries.size()), entries.data()});
    check();
  }
  void delete_queue(const std::string& name) {
    amqp_queue_delete(state_.get(), 1, amqp_cstring_bytes(name.c_str()), 0, 0);
    check();
  }
  /// An exchange of the type `direct`.
  void declare_exchange(const std::string& name) {
    amqp_exchange_declare(state_.get(), 1, amqp_cstring_bytes(name.c_str()),
                          amqp_cstring_bytes("direct"), 0, 1, 0, 0, amqp_empty_table);
    check();
  }
  void bind_queue(const std::string& queue, const std::string& exchange, const std::string& key) {
    amqp_queue_bind(state_.get(), 1, amqp_cstring_bytes(queue.c_str()),
                    amqp_cstring_bytes(exchange.c_str()), amqp_cstring_bytes(key.c_str()),
                    amqp_empty_table);
    check();
  }
  /// How many messages wait in it for a consumer.
  [[nodiscard]] std::uint32_t waiting(const std::string& name) {
    const auto* const found = amqp_queue_declare(state_.get(), 1, amqp_cstring_bytes(name.c_str()),
                                                 1, 0, 0, 0, amqp_empty_table);
    check();
    return found->message_count;
  }
  void publish(const std::string& queue, const amqp_basic_properties_t& properties) {
    amqp_basic_publish(state_.get(), 1, amqp_empty_bytes, amqp_cstring_bytes(queue.c_str()), 0, 0,
                       &properties, amqp_cstring_bytes("x"));
  }

 private:
  struct deleter {
    void operator()(amqp_connection_state_t state) const noexcept {
      amqp_destroy_connection(state);
    }
  };

  void check() const { check(amqp_get_rpc_reply(state_.get())); }
  static void check(const amqp_rpc_reply_t& reply) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
      throw std::runtime_error(std::string("RabbitMQ: ") + amqp_error_string2(reply.library_error));
    }
    throw std::runtime_error("RabbitMQ: the server refuses the call");
  }

  std::unique_ptr<amqp_connection_state_t_, deleter> state_;
};

}  // namespace onceguard::testing
