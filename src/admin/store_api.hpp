// The store as an operator asks for it.
#pragma once
#include <string>

#include "admin/metrics.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

struct store_facts {
  std::string location;     ///< without a password
  std::string accelerator;  ///< the same; empty: there is none
  milliseconds timeout{2'000};
  std::string witness{};  ///< the file by which a restarted process notices a loss; empty: none
};

/// GET /api/store, which asks the store once how it is.
[[nodiscard]] resources store_resources(const metric_sources& sources, store_facts facts);

}  // namespace onceguard::admin
