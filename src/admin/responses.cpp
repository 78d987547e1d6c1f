#include "admin/responses.hpp"

#include <nlohmann/json.hpp>

#include "text/record_json.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

response json_response(const ordered_json& body) { return {.body = json_line(body)}; }

response store_response(const error& why) {
  const std::uint16_t status = why.retryable() ? 503 : 500;
  if (why.effect == effect::none) return refusal(status, why.detail);
  return refusal(status, why.detail + "; it may have been carried out", {{"effect", "unknown"}});
}

response page_response(std::uint16_t status, const error& why) {
  return why.code == errc::invalid_argument ? refusal(status, why.detail) : store_response(why);
}

}  // namespace onceguard::admin
