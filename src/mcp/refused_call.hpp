// Results of tool calls that Onceguard makes itself: texts that an agent can act upon.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/execution.hpp>

namespace onceguard::mcp {

/// What the agent may do next.
enum class next_step : std::uint8_t {
  same_key,  ///< the same call with the same key, later
  new_key,   ///< another call needs another key
  nothing,   ///< a person must look
};

/// A result with `isError`. The text is for the agent; `_meta` has the same for programs.
struct refused_call {
  std::string outcome;  ///< "busy", "unknown" …
  next_step next = next_step::nothing;
  milliseconds retry_after{0};
  std::string text;
};

[[nodiscard]] refused_call refused_by(const refusal& why, std::string_view key);
/// `location` says where the key belongs, for people.
[[nodiscard]] refused_call key_missing(std::string_view location);
[[nodiscard]] refused_call scope_missing(const std::string& why);
[[nodiscard]] refused_call key_malformed(std::string_view fault);

/// As JSON: the result of a tool.
[[nodiscard]] std::string result_of_refusal(const refused_call& refused, bool has_result_type);
/// As JSON: the error of another method.
[[nodiscard]] std::string error_of_refusal(const refused_call& refused,
                                           std::string_view more_data = {});

}  // namespace onceguard::mcp
