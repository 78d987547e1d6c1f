// What is wrong with single values of a policy.
#include <algorithm>
#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/url.hpp"
#include "config/policy/policy_check.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

std::string guarded_method_complaint(std::string_view value) {
  constexpr std::array<std::string_view, 6> never{"GET",   "HEAD",    "OPTIONS",
                                                  "TRACE", "CONNECT", "QUERY"};
  for (const auto name : never) {
    if (value == name) return std::string(name) + " can't be guarded: it has no effect to repeat";
  }
  return refusal_of<parse_method>(value);
}

std::string pointer_complaint(std::string_view value) {
  if (!value.empty() && is_json_pointer(value)) return {};
  return "expected a JSON Pointer such as \"/payment/amount\", got " + quoted(value);
}

std::string probe_complaint(std::string_view value) {
  std::string plain(value);
  for (const std::string_view name : {"{scope}", "{key}"}) {
    const auto position = plain.find(name);
    if (position == std::string::npos) {
      return "expected a URL with {scope} and {key} in it, got " + quoted_url(value);
    }
    plain.replace(position, name.size(), "x");
    if (plain.find(name) != std::string::npos) {
      return std::string(name) + " is there twice, got " + quoted_url(value);
    }
  }
  if (plain.find_first_of("{}") != std::string::npos) {
    return "only {scope} and {key} are put in, got " + quoted_url(value);
  }
  // Neither {scope} nor {key} may determine the host of the probe.
  const auto authority = base::split_url(value).authority.value_or("");
  if (authority.find('{') != std::string_view::npos) {
    return "{scope} and {key} belong in the path or query, got " + quoted_url(value);
  }
  if (parse_web_url(plain)) return {};
  return "expected a URL such as \"http://127.0.0.1:9000/outcome/{scope}/{key}\" without user, "
         "password and fragment, got " +
         quoted_url(value);
}

std::string replay_check_complaint(std::string_view value) {
  const bool plain = std::all_of(value.begin(), value.end(),
                                 [](char c) { return c > 0x20 && c < 0x7f && c != '#'; });
  if (plain && value.starts_with('/') && !value.starts_with("//")) return {};
  return "expected a path such as \"/auth\", got " + quoted_url(value);
}

}  // namespace onceguard::config
