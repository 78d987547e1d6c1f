// What `outcome` may name: statuses and classes of them, and parts of an answer.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/policy.hpp>

#include "config/table/option.hpp"

namespace onceguard::config {

/// The fault of what stands before the equals sign of an outcome; empty: it is valid.
[[nodiscard]] std::string outcome_complaint(std::string_view text);

/// The words of outcomes.
[[nodiscard]] std::span<const std::string_view> outcome_words() noexcept;

/// Replaces all outcomes of the policy.
void assign_outcomes(route_policy& policy, const outcome_list& list);

}  // namespace onceguard::config
