#include "http/request_report.hpp"

#include <algorithm>
#include <array>

namespace onceguard::http {
namespace {

constexpr std::array<std::string_view, request_outcomes> outcome_names{
    "ran",     "replayed", "waited",  "busy",         "mismatch",  "backoff",
    "unknown", "not_kept", "refused", "store_failed", "unguarded", "observed"};

}  // namespace

std::string_view name_of(request_outcome outcome) noexcept {
  return outcome_names[static_cast<std::size_t>(outcome)];
}

bool is_outcome(std::string_view name) noexcept {
  return std::ranges::find(outcome_names, name) != outcome_names.end();
}

std::string_view name_of(unguarded_reason reason) noexcept {
  static constexpr std::array<std::string_view, unguarded_reasons> names{"none", "method", "no_key",
                                                                         "store"};
  return names[static_cast<std::size_t>(reason)];
}

std::string_view settled_name(const request_report& report) noexcept {
  static constexpr std::array<std::string_view, 4> names{"complete", "fail", "release", "unknown"};
  if (report.superseded) return "superseded";
  return report.settled ? names[static_cast<std::size_t>(*report.settled)] : std::string_view();
}

}  // namespace onceguard::http
