// How much of a long test is done: ONCEGUARD_TEST_SCALE, 1 if it is not set.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace onceguard::testing {

inline double test_scale() {
  const char* const text = std::getenv("ONCEGUARD_TEST_SCALE");
  return text == nullptr ? 1 : std::stod(text);
}

/// `count` of rounds or messages, less where the scale asks for less.
inline int scaled(int count) { return std::max(1, static_cast<int>(count * test_scale())); }

/// The step of a walk that takes `step` at the scale 1: fewer, longer steps at a smaller scale.
inline std::uint64_t scaled_step(std::uint64_t step) {
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(step) / std::min(1.0, test_scale())));
}

}  // namespace onceguard::testing
