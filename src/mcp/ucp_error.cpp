#include "mcp/ucp_error.hpp"

#include <algorithm>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {

std::string ucp_refusal(const refused_call& refused) {
  auto code = refused.outcome == "mismatch" ? std::string("idempotency_conflict")
                                            : std::string(refused.outcome);
  std::ranges::replace(code, '-', '_');  // as its codes are written
  return error_of_refusal(
      refused, R"("code":)" + json_string(code) + R"(,"content":)" + json_string(refused.text));
}

}  // namespace onceguard::mcp
