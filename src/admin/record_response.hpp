// Answers that the resources of records share.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "admin/resource.hpp"

namespace onceguard::admin {

[[nodiscard]] response json_response(const nlohmann::ordered_json& body);
/// 503 if a later call may succeed, else 500. The member "effect" says if it may have been done.
[[nodiscard]] response store_refusal(const error& why);

/// As store_refusal, but `status` for a cursor of another store, which is the caller's fault.
[[nodiscard]] response page_refusal(std::uint16_t status, const error& why);

/// The cursor of a store is bytes; that of the API is their hex digits.
[[nodiscard]] std::string cursor_text(std::string_view cursor);
[[nodiscard]] result<std::string> read_cursor(std::string_view text);

/// The record whose id stands in the path; none: that is no id.
[[nodiscard]] std::optional<record_id> record_of(const request& request);
[[nodiscard]] response no_record_id();

}  // namespace onceguard::admin
