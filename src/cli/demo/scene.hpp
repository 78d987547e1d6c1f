// One scene of the demo: the results without Onceguard and with it, and whether they were right.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "cli/demo/client.hpp"

namespace onceguard::cli::demo {

/// The results of one way of playing a scene.
struct telling {
  std::size_t charges = 0;  ///< as counted by the shop
  std::size_t charges_expected = 0;
  std::vector<std::string> seen;  ///< the client's replies, in order
};

struct scene {
  explicit scene(std::string its_title) : title(std::move(its_title)) {}

  std::string title;
  telling without;
  telling with;
  std::vector<std::string> notes;   ///< further lines for a person
  std::vector<std::string> faults;  ///< deviations from the expected results

  /// Adds the fault unless `holds`.
  void expect(bool holds, std::string description) {
    if (!holds) faults.push_back(std::move(description));
  }
  /// Stores both counts, which are the point of the demo, and adds a fault if they differ.
  void charged(telling& style, std::size_t count_by_text, std::size_t expected);
  [[nodiscard]] bool right() const noexcept { return faults.empty(); }
};

/// Adds the client's reply to `style`, and returns the reply.
reply saw(telling& style, reply got);

/// "1 × 201", "49 × 409 in-progress" …, in the order of the first occurrence.
[[nodiscard]] std::vector<std::string> count_by_text(const std::vector<reply>& replies);

}  // namespace onceguard::cli::demo
