// What Prometheus has kept of the gateway's metrics: what it is asked, and what it answers.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include <onceguard/error.hpp>

namespace onceguard::admin {

/// A length of time that may be asked for, and the time between two of its samples.
struct history_span {
  std::string_view name;
  std::chrono::seconds length;
  std::chrono::seconds step;
};

/// Each has 360 samples.
inline constexpr std::array<history_span, 4> history_spans{
    {{"6h", std::chrono::hours(6), std::chrono::minutes(1)},
     {"1d", std::chrono::hours(24), std::chrono::minutes(4)},
     {"7d", std::chrono::hours(7 * 24), std::chrono::minutes(28)},
     {"30d", std::chrono::hours(30 * 24), std::chrono::hours(2)}}};

/// The path of its API with the query of all that the page draws, in one. `matchers`: those of
/// PromQL, or empty.
[[nodiscard]] std::string history_target(std::string_view base_path, std::string_view matchers,
                                         const history_span& span, std::int64_t end_wall_s,
                                         std::chrono::seconds timeout);

/// The samples of an answer's body as GET /api/overview has them, the oldest first; where nothing
/// was kept they are empty. errc::conflict: that is no answer, or a refusal; its detail says which.
[[nodiscard]] result<nlohmann::ordered_json> read_history(std::string_view body,
                                                          const history_span& span,
                                                          std::int64_t end_wall_s);

}  // namespace onceguard::admin
