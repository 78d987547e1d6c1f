// The begin of a connection: both sides say who they are, and agree on limits.
#include <algorithm>
#include <array>

#include "messaging/rabbitmq/amqp_connection.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

constexpr std::string_view protocol_header{"AMQP\0\0\x09\x01", 8};
constexpr std::uint32_t wanted_frame_max = 131'072;
constexpr std::uint32_t least_frame_max = 4'096;  // of the protocol

amqp_table_entry_t text_entry(std::string_view name, std::string_view value) {
  amqp_table_entry_t out{};
  out.key = bytes_of(name);
  out.value.kind = AMQP_FIELD_KIND_UTF8;
  out.value.value.bytes = bytes_of(value);
  return out;
}

amqp_table_entry_t client_capability(std::string_view name) {
  amqp_table_entry_t out{};
  out.key = bytes_of(name);
  out.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  out.value.value.boolean = 1;
  return out;
}

bool holds_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

result<void> connection::log_in(const std::string& name, moment until) {
  outgoing() = protocol_header;
  if (auto done = await(AMQP_CONNECTION_START_METHOD, until); !done) return done;
  if (!append_start_ok(name)) return fault(errc::conflict, "AMQP can't carry the login");
  login_sent_ = true;
  if (auto done = await(AMQP_CONNECTION_TUNE_METHOD, until); !done) return done;
  amqp_connection_tune_ok_t tune{};
  tune.channel_max = the_channel;
  tune.frame_max = static_cast<std::uint32_t>(frame_max());
  tune.heartbeat = static_cast<std::uint16_t>(where_.heartbeat.count());
  amqp_connection_open_t fields{bytes_of(where_.vhost), amqp_bytes_t{}, 0};
  if (!append_method(outgoing(), 0, AMQP_CONNECTION_TUNE_OK_METHOD, &tune) ||
      !append_method(outgoing(), 0, AMQP_CONNECTION_OPEN_METHOD, &fields)) {
    return fault(errc::conflict, "AMQP can't carry the login");
  }
  return await(AMQP_CONNECTION_OPEN_OK_METHOD, until);
}

std::string_view connection::mechanism() const { return where_.external ? "EXTERNAL" : "PLAIN"; }

bool connection::append_start_ok(const std::string& name) {
  // Without the first, a wrong password would look like a connection that broke.
  std::array supported{client_capability("authentication_failure_close"),
                       client_capability("consumer_cancel_notify"),
                       client_capability("connection.blocked"),
                       client_capability("publisher_confirms"), client_capability("basic.nack")};
  amqp_table_entry_t capabilities{};
  capabilities.key = bytes_of("capabilities");
  capabilities.value.kind = AMQP_FIELD_KIND_TABLE;
  capabilities.value.value.table = {static_cast<int>(supported.size()), supported.data()};
  std::array properties{
      text_entry("product", "Onceguard"),
      text_entry("connection_name", std::string_view(name).substr(0, longest_text)), capabilities};
  std::string login;
  if (!where_.external) {
    login += '\0';
    login += where_.user;
    login += '\0';
    login += where_.password;
  }
  amqp_connection_start_ok_t fields{};
  fields.client_properties = {static_cast<int>(properties.size()), properties.data()};
  fields.mechanism = bytes_of(mechanism());
  fields.response = bytes_of(login);
  fields.locale = bytes_of("en_US");
  return append_method(outgoing(), 0, AMQP_CONNECTION_START_OK_METHOD, &fields,
                       method_size + login.size());
}

void connection::take_start(const amqp_connection_start_t& start) {
  if (start.version_major != AMQP_PROTOCOL_VERSION_MAJOR ||
      start.version_minor != AMQP_PROTOCOL_VERSION_MINOR) {
    end(fault(errc::broker_unreachable, "the broker's protocol is not AMQP 0-9-1"));
  } else if (!holds_word(text_of(start.mechanisms), mechanism())) {
    end(fault(errc::conflict, std::string("the broker takes no login by a ") +
                                  (where_.external ? "certificate (EXTERNAL): is the plugin "
                                                     "rabbitmq_auth_mechanism_ssl enabled?"
                                                   : "password (PLAIN)")));
  }
  const auto& properties = start.server_properties;
  for (int i = 0; i < properties.num_entries; ++i) {
    const auto& [key, value] = properties.entries[i];
    const bool is_text = value.kind == AMQP_FIELD_KIND_UTF8;
    if (is_text && text_of(key) == "version") version_ = text_of(value.value.bytes);
  }
}

void connection::take_tune(const amqp_connection_tune_t& tune) {
  auto most = wanted_frame_max;
  if (tune.frame_max != 0) most = std::min(most, tune.frame_max);
  if (most < least_frame_max || logged_in_) {
    end(fault(errc::broker_unreachable, "an answer that is not of AMQP: its limits"));
    return;
  }
  // The decoder is idle: it has just completed a frame.
  const int failed = amqp_tune_connection(decoder_.get(), the_channel, static_cast<int>(most), 0);
  if (failed != AMQP_STATUS_OK) {
    end(fault(errc::broker_unreachable, amqp_error_string2(failed)));
  }
}

}  // namespace onceguard::messaging::rabbitmq
