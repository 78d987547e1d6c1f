// One scene of the demo: what happens without Onceguard and with it, and whether it was right.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/demo/client.hpp"

namespace onceguard::cli::demo {

/// One way in which a scene was played.
struct telling {
  std::size_t charges = 0;  ///< as the shop counted them
  std::size_t charges_expected = 0;
  std::vector<std::string> seen;  ///< what the client got to see, in order
};

struct scene {
  explicit scene(std::string its_title) : title(std::move(its_title)) {}

  std::string title;
  telling without;
  telling with;
  std::vector<std::string> notes;   ///< what a person would see besides, line by line
  std::vector<std::string> faults;  ///< what was not as it should be

  /// Notes the fault unless it holds.
  void expect(bool holds, std::string description) {
    if (!holds) faults.push_back(std::move(description));
  }
  /// Counts are what the demo is about: both must be as expected.
  void charged(telling& style, std::size_t counted, std::size_t expected);
  [[nodiscard]] bool right() const noexcept { return faults.empty(); }
};

/// Adds what the client saw to a telling, and hands the reply on.
reply saw(telling& style, reply got);

/// "1 × 201", "49 × 409 in-progress" … in the order of their first appearance.
[[nodiscard]] std::vector<std::string> counted(const std::vector<reply>& replies);

}  // namespace onceguard::cli::demo
