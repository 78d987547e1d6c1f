// Sends the requests of a table to a server, and compares its answers. It blocks.
#pragma once
#include <vector>

#include "base/address.hpp"
#include "conformance/answer_comparison.hpp"
#include "conformance/cases.hpp"

namespace onceguard::conformance {

/// What is checked, and what is known of it.
struct target {
  base::http_url url;
  milliseconds long_work{12'000};  ///< what "long" means in a case
  milliseconds latency{0};         ///< an answer takes so long beside the work
  bool answers_bytes = true;       ///< the test service knows the member `bytes`
};

/// Asks the test service how long answers take, and what it knows. The error says what is missing.
[[nodiscard]] result<target> known(target service);

/// Runs one case with keys and a counter of its own, and once more where an answer came too late to
/// be one beside the work of another. What differs; empty: the server conforms.
/// Thread-safe.
[[nodiscard]] std::vector<difference> run(const target& target, const test_case& test);

}  // namespace onceguard::conformance
