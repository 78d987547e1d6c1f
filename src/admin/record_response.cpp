#include "admin/record_response.hpp"

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

response json_response(const ordered_json& body) { return {.body = json_line(body)}; }

response store_refusal(const error& why) {
  const std::uint16_t status = why.retryable() ? 503 : 500;
  if (why.effect == effect::none) return refusal(status, why.detail);
  return refusal(status, why.detail + "; it may have been carried out", {{"effect", "unknown"}});
}

response page_refusal(std::uint16_t status, const error& why) {
  return why.code == errc::invalid_argument ? refusal(status, why.detail) : store_refusal(why);
}

std::string cursor_text(std::string_view cursor) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(cursor.data());
  return base::to_hex(std::span(bytes, cursor.size()));
}

result<std::string> read_cursor(std::string_view text) {
  std::vector<unsigned char> bytes(text.size() / 2);
  if (text.size() % 2 != 0 || !base::from_hex(text, bytes)) {
    return error(errc::invalid_argument, "cursor: that of a page before was expected");
  }
  return std::string(base::as_chars(bytes));
}

std::optional<record_id> record_of(const request& request) {
  record_id id{};
  return base::from_hex(request.segment, id) ? std::optional(id) : std::nullopt;
}

response no_record_id() { return refusal(400, "A record id of 64 hex digits was expected."); }

}  // namespace onceguard::admin
