// Keys that stand in the JSON of a body.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>

namespace onceguard::http {

/// What a source of keys has.
struct found_key {
  bool present = false;
  std::string key;
  std::string fault;  ///< it is there and no key, or not the key that another source has: for a
                      ///< problem's detail, without the value
};

/// How a source is named to a client: "the header Idempotency-Key", "/id of the JSON body".
[[nodiscard]] std::string description_of(const key_source& source);

/// Adds what a source has to what earlier ones have: a second key must be the same.
void join(found_key& first, found_key next, const key_source& source);

[[nodiscard]] bool takes_key_from_body(const route_policy& policy) noexcept;

/// Joins what the sources in the body have. A body that is no JSON at all has no key; one that only
/// looks like JSON, or could be read in two ways, has a fault.
void join_body_keys(found_key& found, const route_policy& policy, std::string_view content_type,
                    std::string_view body);

}  // namespace onceguard::http
