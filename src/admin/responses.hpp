// Responses that several resources of the API give.
#pragma once
#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/error.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

[[nodiscard]] response json_response(const nlohmann::ordered_json& body);
/// 503 if a later call may succeed, else 500. The member "effect" says if it may have been done.
[[nodiscard]] response store_response(const error& why);

/// As store_response, but `status` for a cursor of another store, which is the caller's fault.
[[nodiscard]] response page_response(std::uint16_t status, const error& why);

}  // namespace onceguard::admin
