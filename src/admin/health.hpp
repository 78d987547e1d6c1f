// Whether the process works, and whether it should get requests.
#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/engine.hpp>

#include "admin/program.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

/// Why the gateway is not ready.
struct unready {
  /// "starting", until the store has answered once; "draining", "store-away",
  /// "store-lost-its-memory".
  std::string reason;
  std::string since{};     ///< a point in time; empty: not known
  std::string why{};       ///< for people
  milliseconds for_ms{0};  ///< for so long at least; 0: not known
};
[[nodiscard]] std::vector<unready> unready_reasons(const engine& engine, const program& program);

/// The same for programs: a list of objects.
[[nodiscard]] nlohmann::ordered_json reasons_json(const std::vector<unready>& reasons);

/// GET /healthz and GET /readyz, both without a token.
[[nodiscard]] resources health_resources(const engine& engine, const program& program);

}  // namespace onceguard::admin
