// The admin API's records: lists, one record, and counts.
#pragma once
#include <onceguard/store.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

/// What reads below /api/records, and /api/counts. The store must outlive the listener. `timeout`:
/// of each call of the store.
[[nodiscard]] resources record_resources(store& records, milliseconds timeout);

}  // namespace onceguard::admin
