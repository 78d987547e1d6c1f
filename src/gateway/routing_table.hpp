// Finds the rule that applies to a request.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/buffers.hpp"
#include "gateway/params/gateway_params.hpp"
#include "http/proxy_sign.hpp"
#include "http/route_table.hpp"

namespace onceguard::gateway {

/// A rule, ready for use. Immutable except for what it learns of answers.
struct route {
  route_params rule;
  std::string name;       ///< its host and path
  std::size_t index = 0;  ///< in routing_params::routes
  const upstream_params* upstream = nullptr;
  /// Routes of webhooks with the same upstream, if this is none: what their senders did not sign
  /// must not get there in another spelling.
  std::vector<route_params> signed_beside{};
  mutable answer_sizes answers{};
  mutable http::server_naming naming{};
};

/// Immutable; a request keeps alive the table that it began with.
class routing_table {
 public:
  /// `former`: the one whose place it takes; null: none. What its routes have learnt of how their
  /// services name themselves goes on: a reload must not make a hidden proxy unknown.
  explicit routing_table(routing_params params, const routing_table* former = nullptr);
  routing_table(const routing_table&) = delete;
  routing_table& operator=(const routing_table&) = delete;

  /// As http::route_table.
  [[nodiscard]] const route* match(std::string_view host, std::string_view path,
                                   std::string_view method) const {
    return routes_.match(host, path, method);
  }
  [[nodiscard]] bool leads_around_a_key(const route& found, std::string_view host,
                                        std::string_view path, std::string_view method) const {
    return routes_.leads_around_a_key(&found, host, path, method);
  }
  /// Whether the upstream could take the raw path for that of a route of webhooks, although it
  /// matches `found`.
  [[nodiscard]] static bool leads_around_a_signature(const route& found, std::string_view path,
                                                     std::string_view method);
  [[nodiscard]] const std::vector<route>& routes() const noexcept { return routes_.entries(); }
  [[nodiscard]] milliseconds longest_retention() const noexcept;

 private:
  const std::vector<upstream_params> upstreams_;
  const http::route_table<route> routes_;
};

using routing_ptr = std::shared_ptr<const routing_table>;

}  // namespace onceguard::gateway
