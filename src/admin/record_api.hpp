// The admin API's records: lists, one record, and counts.
#pragma once
#include <onceguard/store.hpp>

#include "admin/audit_api.hpp"
#include "admin/resource.hpp"

namespace onceguard::admin {

/// What reads below /api/records, and /api/counts. The store must outlive the listener. `timeout`:
/// of each call of the store. `audit`: where it is written who was shown a stored answer.
[[nodiscard]] resources record_resources(store& records, milliseconds timeout, audit_source audit);

}  // namespace onceguard::admin
