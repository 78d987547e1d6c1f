// The admin API's records: lists, one record, and the acts of an operator.
#pragma once
#include <functional>

#include <onceguard/store.hpp>

#include "admin/resource.hpp"
#include "audit/audit_log.hpp"

namespace onceguard::admin {

struct record_api_params {
  milliseconds timeout{2'000};  ///< of each call of the store
  /// Where acts are written to before and after they are made; null: the gateway still starts.
  std::function<audit_log*()> audit;
  /// For how long a record of this route keeps its answer.
  std::function<milliseconds(const std::string& route)> retention;
};

/// The resources below /api/records. The store must outlive the listener.
[[nodiscard]] resources record_resources(store& records, const record_api_params& params);

}  // namespace onceguard::admin
