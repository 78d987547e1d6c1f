// Where a call has its idempotency key, by the contracts that agents' commerce has published.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::mcp {

/// What of the arguments may differ between two tries of a call.
struct omission {
  std::vector<std::string> path;  ///< names, from the arguments on
  bool only_object = false;       ///< another value of this name means something
};

/// A place of the key.
struct key_location {
  std::vector<std::string> path;    ///< names, from the parameters of the request on
  bool if_no_other = false;         ///< where the key is another one's, too
  std::vector<omission> omitted{};  ///< of calls that have their key here
  bool is_described{};              ///< the list of tools may have it from here alone
};

struct key_locations {
  /// The argument that the list of tools describes; empty: none. It is the first place.
  std::string argument = "idempotency_key";
  std::vector<key_location> others;
  std::vector<omission> omitted;     ///< of all calls
  std::vector<std::string> methods;  ///< requests beside tools/call that are calls
  std::vector<std::string> streams;  ///< those among them whose answers are event streams
  bool adcp_answers = false;         ///< repeats and refusals are as AdCP has them
  bool acp_errors = false;           ///< refusals, and what the server refuses, are as ACP has them
  bool ucp_errors = false;           ///< refusals are as UCP has them
  bool x402_prices = false;          ///< a call without a payment may be answered with its price

  /// The argument, and the others.
  [[nodiscard]] std::vector<key_location> all() const;
};

/// The names in a JSON Pointer (RFC 6901) that leads through objects; empty: it is none.
[[nodiscard]] std::vector<std::string> path_of(std::string_view pointer);

/// "default", "ucp", "acp", "adcp", "x402", "a2a".
[[nodiscard]] const std::vector<std::string>& preset_names();
[[nodiscard]] key_locations preset(std::string_view name);

/// The value at a path, as it is written; empty: nothing is there.
[[nodiscard]] std::string_view value_at(std::string_view text,
                                        const std::vector<std::string>& path);
/// The text without what stands at a path.
[[nodiscard]] std::string without_at(std::string_view text, const std::vector<std::string>& path);

}  // namespace onceguard::mcp
