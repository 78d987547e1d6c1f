// Turns a request to the library into the subject of a record.
#pragma once
#include <optional>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>
#include <onceguard/request.hpp>

namespace onceguard {

/// What is wrong with the request; empty: nothing.
[[nodiscard]] std::optional<error> complaint(const request& request);

[[nodiscard]] subject_ptr subject_of(const request& request);

}  // namespace onceguard
