// What `onceguard consume` does with the messages of one queue. The configuration fills the
// parameters in and has checked them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/inbox.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/subscription.hpp>

#include "base/address.hpp"
#include "tls/context.hpp"

namespace onceguard::consume {

/// Where a part of the id of a message stands.
struct id_part {
  enum class location : std::uint8_t { literal, property, header, json, body_hash, cloud_event };
  location source = location::property;
  /// Of the property or the header; the JSON Pointer; the literal text.
  std::string name;
};

/// The parts whose values make the id, one behind the other.
using id_rule = std::vector<id_part>;

/// "property:NAME", "header:NAME", "json:/pointer", "body-hash" or "cloudevents"; or a text with
/// several of the first four, such as "{header:source}|{header:id}". The error says what was
/// expected.
[[nodiscard]] result<id_rule> parse_id_rule(std::string_view text);

struct consume_params {
  std::string subscriber;
  std::string queue;  ///< the queue's URL; may hold a password
  id_rule id{{id_part::location::property, "message_id"}};
  bool shares_subscriber = false;          ///< other queues with this subscriber have the same ids
  std::optional<base::http_url> endpoint;  ///< or:
  std::vector<std::string> command;
  tls::client_files tls;             ///< of an endpoint by https://
  std::vector<std::string> headers;  ///< of a message, which the endpoint or the command gets
  std::size_t concurrency = 16;
  std::string dead_letter;  ///< a URL; empty: the broker's own destination
  bool drop_dead_letters = false;
  std::string dead_letter_queue;  ///< where they are taken from; empty: see dead_letter_box_url
  messaging::order_rule order = messaging::order_rule::skip;
  milliseconds timeout{60'000};  ///< of the endpoint or the command
  std::string secret_file;       ///< the key of the signature; empty: no signature
  inbox_policy inbox;
  /// How a status of the endpoint counts, where that was changed: by status, then by class.
  std::map<std::uint16_t, outcome_rule> outcome_status;
  std::map<std::uint16_t, outcome_rule> outcome_class;
};

}  // namespace onceguard::consume
