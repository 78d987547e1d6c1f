// Sends the requests of a table to a server, and compares its answers. It blocks.
#pragma once
#include <vector>

#include "conformance/check.hpp"
#include "conformance/table.hpp"
#include "gateway/params/http_url.hpp"

namespace onceguard::conformance {

struct target {
  gateway::http_url url;
  milliseconds patience{10'000};  ///< for each answer
};

/// Whether the test service answers there; the error says what is missing.
[[nodiscard]] result<void> find_service(const target& target);

/// Runs one case with keys and a counter of its own. What differs; empty: the server conforms.
[[nodiscard]] std::vector<difference> run(const target& target, const test_case& test);

}  // namespace onceguard::conformance
