// Finds the rule that applies to a request.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/buffers.hpp"
#include "gateway/params/gateway_params.hpp"
#include "http/forwarding.hpp"

namespace onceguard::gateway {

/// The text of the refusal if routing_table::leads_around_a_key() is true.
inline constexpr std::string_view around_a_key_text =
    "Servers read this path or host differently, and so it may lead around a rule that requires a "
    "key.";

/// A rule, ready for use. Immutable except for `answers`.
struct route {
  route_params rule;
  std::string name;       ///< its host and path
  std::size_t index = 0;  ///< in routing_params::routes
  const upstream_params* upstream = nullptr;
  mutable answer_sizes answers{};
};

/// Immutable; a request keeps alive the table that it began with.
class routing_table {
 public:
  explicit routing_table(routing_params params);
  routing_table(const routing_table&) = delete;
  routing_table& operator=(const routing_table&) = delete;

  /// `host` is the value of the Host field (with or without port), `path` is normalised. Null if no
  /// rule matches.
  [[nodiscard]] const route* match(std::string_view host, std::string_view path,
                                   std::string_view method) const;
  /// Whether a server could interpret host or path in such a way that another rule than `found`
  /// matches, and one of the two rules requires a key for the method. `path` is raw.
  [[nodiscard]] bool leads_around_a_key(const route& found, std::string_view host,
                                        std::string_view path, std::string_view method) const;
  [[nodiscard]] const std::vector<route>& routes() const noexcept { return routes_; }

 private:
  const std::vector<upstream_params> upstreams_;
  std::vector<route> routes_;  // most specific first
};

using routing_ptr = std::shared_ptr<const routing_table>;

}  // namespace onceguard::gateway
