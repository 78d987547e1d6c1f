// What `onceguard relay` does with the messages of one outbox. The configuration fills the
// parameters in and has checked them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

#include "base/address.hpp"
#include "tls/context.hpp"

namespace onceguard::relay {

struct relay_params {
  std::string name;
  std::string outbox;                        ///< a URL; may hold a password
  std::string broker;                        ///< a publisher's URL; may hold a password; or:
  std::optional<base::http_url> endpoint{};  ///< each message is POSTed there
  tls::client_files tls{};                   ///< of an endpoint by https://
  std::vector<std::string> headers{};        ///< of a message, which an endpoint gets, too
  std::string secret_file;                   ///< the key of the signature; empty: no signature
  std::size_t concurrency = 4;               ///< batches, or requests, at the same time
  std::size_t batch = 64;                    ///< messages that a broker gets at once, at most
  milliseconds timeout{10'000};              ///< of the broker's confirmation, of the answer
  std::uint32_t attempts = 8;                ///< refusals of a message before it is dead
  milliseconds backoff{1'000};               ///< after the first of them; doubles …
  milliseconds backoff_max{60'000};          ///< … up to this
};

}  // namespace onceguard::relay
