// What of an answer a route keeps: the parts that it picks, without those that it redacts.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

namespace onceguard::http {

/// On a kept answer that is not what the first caller got.
inline constexpr std::string_view redacted_field = "Onceguard-Redacted";

/// Whether the route keeps less than whole answers.
[[nodiscard]] bool keeps_parts(const route_policy& policy) noexcept;
/// Whether what it keeps depends on the JSON of its answers.
[[nodiscard]] bool keeps_parts_of_json(const route_policy& policy) noexcept;

/// What is wrong with the parts that a policy names; empty: nothing.
[[nodiscard]] std::string fault_of_parts(const route_policy& policy);

/// Leaves in the answer what may be kept, and marks it if that is not all. Fields that speak of the
/// bytes before (ETag, digests, signatures) go with them. Returns why the body can't be read, and
/// is gone; empty: it could.
[[nodiscard]] std::string_view keep_parts(const route_policy& policy, answer& kept);

/// The same for the answer of a settle; the others who have it keep theirs. Where its body can't be
/// read, nothing is kept of it (of a redirect its head, by which it is remembered), and the log
/// says so for the route.
void keep_parts_of(const route_policy& policy, std::string_view route, settle_terms& terms);
/// The same for an answer that the application reports.
void keep_parts_of(const route_policy& policy, std::string_view route, effect_report& report);

}  // namespace onceguard::http
