#include "mcp/x402_result.hpp"

#include <string>

#include "mcp/key_locations.hpp"
#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

/// What has prices, or wraps what has them.
bool has_prices(std::string_view object) {
  const auto priced = [](std::string_view given) {
    const auto accepted = elements_of(value_at(given, {"accepts"}));
    return accepted && !accepted->empty() && !value_at(given, {"x402Version"}).empty();
  };
  return priced(object) || priced(value_at(object, {"x402/error", "data"}));
}

}  // namespace

bool asks_for_payment(std::string_view result) {
  if (has_prices(value_at(result, {"structuredContent"}))) return true;
  const auto content = elements_of(value_at(result, {"content"}));
  if (!content || content->empty()) return false;
  const auto text = string_of(value_at(content->front().text, {"text"}));
  return text && has_prices(*text);
}

}  // namespace onceguard::mcp
