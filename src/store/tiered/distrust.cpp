#include "store/tiered/distrust.hpp"

namespace onceguard::tiered {
namespace {

// Clocks drift, and the two are not read at the same moment.
constexpr std::int64_t step_least_ms = 5'000;

}  // namespace

std::optional<std::string_view> reason_for_distrust(const findings& now,
                                                    const std::optional<findings>& before) {
  if (before && before->truth.origin == now.truth.origin &&
      now.truth.generation < before->truth.generation) {
    return "the store is an older copy of itself";
  }
  const auto& noted = now.truth.noted;
  const bool same = before && before->accelerator.identity == now.accelerator.identity;
  const bool older = (noted && now.accelerator.generation < noted->generation) ||
                     (same && now.accelerator.generation < before->accelerator.generation);
  if (older) return "the accelerator is an older copy of itself";
  const auto back_from = [&](const accelerator_state& earlier) {
    return now.accelerator.clock_ahead < earlier.clock_ahead - step_least_ms;
  };
  if ((noted && back_from(*noted)) || (same && back_from(before->accelerator))) {
    return "the accelerator's clock went back: what it keeps would outlive its retention";
  }
  return std::nullopt;
}

}  // namespace onceguard::tiered
