// The URLs: nats[+tls]://[user:password@]host[:port]/STREAM/CONSUMER and …/SUBJECT.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "messaging/broker_kind.hpp"
#include "messaging/broker_tls.hpp"

namespace onceguard::messaging::nats {

inline constexpr std::string_view consumer_example = "nats://localhost:4222/STREAM/CONSUMER";
inline constexpr std::string_view publisher_example = "nats://localhost:4222/SUBJECT";

struct nats_url {
  broker_url url;
  std::optional<tls::client_files> tls;  ///< of `nats+tls`
  std::string credentials;               ///< a file with a user's JWT and seed; empty: none
  std::string nkey;                      ///< a file with a user's seed; empty: none

  /// Why one of the files can't be used; empty: all can.
  [[nodiscard]] std::string files_fault() const;
};

/// errc::invalid_argument describes the fault.
[[nodiscard]] result<nats_url> read_nats_url(std::string_view text, broker_role role);

}  // namespace onceguard::messaging::nats
