#include "mcp/http_message.hpp"

#include <array>

namespace onceguard::mcp {

bool is_type(const http_head& head, std::string_view wanted) {
  const auto type = head.fields["Content-Type"];
  return base::iequals(base::trim(type.substr(0, type.find(';'))), wanted);
}

bool is_legible(const http_head& head) {
  const auto coding = head.fields["Content-Encoding"];
  return coding.empty() || base::iequals(coding, "identity");
}

bool travels(std::string_view name) noexcept {
  // The messages in an answer must be legible: no Accept-Encoding.
  constexpr std::array<std::string_view, 11> those_of_a_connection{
      "connection", "keep-alive",        "proxy-connection", "te",   "trailer",        "upgrade",
      "expect",     "transfer-encoding", "content-length",   "host", "accept-encoding"};
  return std::ranges::none_of(those_of_a_connection,
                              [&](auto each) { return base::iequals(each, name); });
}

}  // namespace onceguard::mcp
