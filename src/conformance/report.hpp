// What became of the cases, for people and for programs.
#pragma once
#include <string>
#include <vector>

#include "conformance/answer_comparison.hpp"

namespace onceguard::conformance {

struct case_report {
  const test_case* test;
  std::vector<difference> differences;  ///< empty: passed
  std::string skipped;                  ///< why it was not checked; empty: it was
};

/// "pass NAME", "skip NAME: why", or "FAIL NAME" with the rule and what differed. Ends with a line
/// end.
[[nodiscard]] std::string case_text(const case_report& report);

/// "40 cases: 38 passed, 2 failed", and how many were not checked. Ends with a line end.
[[nodiscard]] std::string summary_text(const std::vector<case_report>& reports);

/// All of it as one JSON document. Ends with a line end.
[[nodiscard]] std::string report_json(const std::string& target, level level,
                                      const std::vector<case_report>& reports);

}  // namespace onceguard::conformance
