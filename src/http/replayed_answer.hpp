// What of a stored answer depends on who asked first.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"

namespace onceguard::http {

/// The answer for a repeat with these fields: the stored one, or a copy. A gzip body is unpacked,
/// up to `longest` bytes, for who does not accept it. What lets the page of one origin read the
/// answer is not said to another origin, unless the policy has `cors`.
[[nodiscard]] answer_ptr answer_for(answer_ptr stored, std::span<const base::field> fields,
                                    const route_policy& policy, std::size_t longest);

/// Copies of those fields of a request that `answer_for` looks at, for an answer that comes when
/// the request is gone.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_for_replay(
    std::span<const base::field> fields);

}  // namespace onceguard::http
