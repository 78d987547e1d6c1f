// The id of a record in the path of a request: /api/records/ID.
#pragma once
#include <optional>

#include <onceguard/record.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

/// The record whose id stands in the path; none: that is no id.
[[nodiscard]] std::optional<record_id> record_in_path(const request& request);
/// What such a request gets.
[[nodiscard]] response no_record_in_path();

}  // namespace onceguard::admin
