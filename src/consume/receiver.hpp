// What a message is handed to: an HTTP endpoint, or a command.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/broker.hpp>

#include "consume/consume_params.hpp"
#include "messaging/inbox_guard/guarded_message.hpp"

namespace onceguard::consume {

/// One attempt to hand a message over.
struct handover {
  const messaging::message* received = nullptr;
  std::string id;
  std::string key;  ///< the same in each attempt: an idempotency key for whoever gets the message
  std::uint32_t attempt = 0;
  running* lease = nullptr;  ///< which the attempt runs under
};

/// Thread-safe.
class receiver {
 public:
  receiver() = default;
  receiver(const receiver&) = delete;
  receiver& operator=(const receiver&) = delete;
  virtual ~receiver() = default;
  /// Blocks until the message is handled, for at most the timeout. Never throws.
  [[nodiscard]] virtual messaging::handling take(const handover& given) = 0;
};

/// Statuses that say nothing about the message: whoever answers takes none now.
[[nodiscard]] constexpr bool says_away(std::uint16_t status) noexcept {
  return status == 429 || status == 502 || status == 503;
}

/// Of these, one that is never a message's own: a rate limiter lets others through.
[[nodiscard]] constexpr bool says_too_many(std::uint16_t status) noexcept { return status == 429; }

/// POST to the endpoint of the parameters. A 2xx is handled; 3xx, 4xx, 501, 503 and an address that
/// takes no connection are failed attempts; any other status, a timeout and a broken answer are
/// unknown. 429, 502, 503 and that address say that it is away. `secrets`: the bytes of the keys of
/// signatures; empty: no signature.
[[nodiscard]] std::unique_ptr<receiver> make_endpoint_receiver(const consume_params& params,
                                                               std::vector<std::string> secrets);

/// The command of the parameters, with the payload on its standard input. Exit code 0 is handled;
/// 75 (EX_TEMPFAIL) and a command that can't be started are failed attempts; 65 (EX_DATAERR) says
/// that the message is dead; any other end, and a timeout, is unknown.
[[nodiscard]] std::unique_ptr<receiver> make_command_receiver(const consume_params& params);

}  // namespace onceguard::consume
