// The admin API's acts: an operator changes one record, or all that a filter chooses.
#pragma once
#include <functional>
#include <string>

#include <onceguard/store.hpp>

#include "admin/resource.hpp"
#include "audit/audit_log.hpp"

namespace onceguard::admin {

struct resolve_params {
  milliseconds timeout{2'000};  ///< of each call of the store
  /// Where acts are written to before and after they are made; null: the gateway still starts.
  std::function<audit_log*()> audit;
  /// For how long a record of this route keeps its answer.
  std::function<milliseconds(const std::string& route)> retention;
};

/// What changes records. The store must outlive the listener.
[[nodiscard]] resources resolve_resources(store& records, const resolve_params& params);

}  // namespace onceguard::admin
