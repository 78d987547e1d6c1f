// What an answer says of its outcome besides its status: in the service's own word, in a header
// field, in its JSON.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include <onceguard/policy.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// The service's own word, `Onceguard-Outcome`; empty: it has said nothing. What can't be
/// understood, and two words that differ, are unknown.
[[nodiscard]] std::optional<outcome_rule> word_of_service(
    std::span<const base::field> fields) noexcept;

/// What the first of the rules says whose part is there. Without `body`, and if that is no JSON
/// with one meaning or has a content coding, rules on JSON don't apply.
[[nodiscard]] std::optional<outcome_rule> meaning_of_parts(std::span<const answer_part> rules,
                                                           std::span<const base::field> fields,
                                                           std::optional<std::string_view> body);

/// Whether there are rules on the JSON of an answer, which is to come without a content coding.
[[nodiscard]] bool reads_answers(const route_policy& policy) noexcept;

}  // namespace onceguard::http
