#include "config/policy_complaints.hpp"

#include <array>

#include <onceguard/fingerprint.hpp>

#include "config/texts.hpp"
#include "http1/method.hpp"

namespace onceguard::config {

std::string guarded_method_complaint(std::string_view value) {
  constexpr std::array<std::string_view, 5> never{"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT"};
  for (const auto name : never) {
    if (value == name) return std::string(name) + " can't be guarded: it has no effect to repeat";
  }
  if (auto refused = refusal_of<parse_method>(value); !refused.empty()) return refused;
  if (http1::is_known_method(value)) return {};
  return quoted(value) + " can't be guarded: the gateway answers 501 to it";
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
      return "expected a URL with {scope} and {key} in it, got " + quoted(value);
    }
    plain.replace(position, name.size(), "x");
    if (plain.find(name) != std::string::npos) {
      return std::string(name) + " is there twice, got " + quoted(value);
    }
  }
  if (plain.find_first_of("{}") != std::string::npos) {
    return "only {scope} and {key} are put in, got " + quoted(value);
  }
  // Neither {scope} nor {key} may determine the host of the probe.
  const auto authority = value.find("://") == std::string_view::npos
                             ? std::string_view{}
                             : value.substr(value.find("://") + 3);
  if (authority.substr(0, authority.find_first_of("/?#")).find('{') != std::string_view::npos) {
    return "{scope} and {key} belong in the path or query, got " + quoted(value);
  }
  if (parse_http_url(plain)) return {};
  if (value.starts_with("https://")) {
    return "https:// is not in this version; expected a URL with http://, got " + quoted(value);
  }
  return "expected a URL such as \"http://127.0.0.1:9000/outcome/{scope}/{key}\" without user, "
         "password and fragment, got " +
         quoted(value);
}

}  // namespace onceguard::config
