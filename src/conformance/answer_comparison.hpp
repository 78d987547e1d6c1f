// Compares an answer with what a table expects. Pure.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "conformance/cases.hpp"
#include "http1/client/client.hpp"

namespace onceguard::conformance {

struct difference {
  std::size_t step = 0;  ///< counted from 1
  std::string subject;   ///< "status", "body", "runs", "field Retry-After" …
  std::string expected;
  std::string got;
};

/// An answer without a status is one that did not come. `earlier` are the answers of the steps
/// before this one. The count of the work is not compared here.
void compare(const expectation& expected, const http1::answer& answer,
             std::span<const http1::answer> earlier, std::size_t step,
             std::vector<difference>& differences);

}  // namespace onceguard::conformance
