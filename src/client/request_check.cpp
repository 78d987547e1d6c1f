// What a request may hold.
#include <algorithm>
#include <string>

#include <onceguard/client.hpp>
#include <onceguard/key.hpp>

#include "base/ascii.hpp"
#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

error wrong_request(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

result<void> check_url(std::string_view url) {
  if (!std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; })) {
    return wrong_request("the URL has a space, a control character or one outside ASCII");
  }
  const auto parts = base::split_url(url);
  if (parts.scheme != "http" && parts.scheme != "https") {
    return wrong_request("the URL must begin with http:// or https://");
  }
  if (!parts.authority || parts.authority->empty() || parts.authority->front() == ':') {
    return wrong_request("the URL has no host");
  }
  if (parts.authority->find('@') != std::string_view::npos) {
    return wrong_request("the URL has a user or password; send them in an Authorization header");
  }
  if (parts.fragment) return wrong_request("the URL has a fragment (#…), which is never sent");
  return {};
}

result<void> check_header(std::string_view name, std::string_view value) {
  if (!base::is_token(name)) return wrong_request("a header's name is no token");
  if (!base::is_field_value(value)) {
    return wrong_request("the value of the header " + std::string(name) +
                         " has a control character");
  }
  for (const std::string_view added :
       {"host", "content-length", "transfer-encoding", "connection", "expect"}) {
    if (base::iequals(name, added))
      return wrong_request("the header " + std::string(name) + " is not yours");
  }
  if (base::iequals(name, "idempotency-key")) {
    return wrong_request("the header Idempotency-Key is made from the key of the request");
  }
  return {};
}

}  // namespace

result<void> check(const request& sent) {
  if (!base::is_token(sent.method)) return wrong_request("the method is no token");
  if (auto checked = check_url(sent.url); !checked) return checked;
  for (const auto& [name, value] : sent.headers) {
    if (auto checked = check_header(name, value); !checked) return checked;
  }
  const bool visible = std::ranges::all_of(sent.key, [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!visible || sent.key.size() > key_size_max) {
    return wrong_request("the key must be 1 to 255 visible ASCII characters or spaces");
  }
  return {};
}

result<void> check(const retry_params& params) {
  const auto refuse = [](const char* why) {
    return wrong_request(std::string("retry_params: ") + why);
  };
  if (params.attempts == 0) return refuse("attempts is not positive");
  if (params.budget.count() <= 0) return refuse("budget is not positive");
  if (params.attempt_timeout.count() <= 0) return refuse("attempt_timeout is not positive");
  if (params.first_wait.count() < 0) return refuse("first_wait is negative");
  if (params.longest_wait.count() < 0) return refuse("longest_wait is negative");
  return {};
}

}  // namespace v1
}  // namespace onceguard::client
