// What the URLs of consumers and publishers say.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_url.hpp"

namespace onceguard::messaging::redis_streams {

inline constexpr std::string_view consumer_example =
    "redis://user:password@localhost:6379/orders?group=billing&hold=30s";
inline constexpr std::string_view publisher_example = "redis://localhost:6379/orders";

/// Names of consumers that begin with it are the room's own: see scripts.hpp.
inline constexpr std::string_view reserved_prefix = "onceguard:";

/// `redis://[user:password@]HOST[:PORT]/STREAM?group=GROUP[&hold=30s][&consumer=NAME][&create=yes]`
struct consumer_settings {
  broker_url url;
  std::string group;
  /// All consumers of a group should have the same.
  milliseconds hold{30'000};
  std::optional<std::string> consumer;  ///< its name in the group; none: it gets one of its own
  bool create = false;                  ///< makes the stream and the group where there are none
};

/// `redis://[user:password@]HOST[:PORT]/STREAM[?max_length=N]`
struct publisher_settings {
  broker_url url;
  /// The stream is trimmed to about so many entries. Whatever is trimmed is lost, also where no
  /// consumer has seen it, or one holds it.
  std::optional<std::uint64_t> max_length;
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<consumer_settings> read_consumer_url(std::string_view text);
[[nodiscard]] result<publisher_settings> read_publisher_url(std::string_view text);

/// Why the URL can't be right in this role; empty: it may be.
[[nodiscard]] std::string url_fault(std::string_view url, broker_role role);

}  // namespace onceguard::messaging::redis_streams
