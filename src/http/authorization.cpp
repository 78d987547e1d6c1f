#include "http/authorization.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/number_in.hpp"
#include "base/octets.hpp"

namespace onceguard::http {
namespace {

using base::iequals;

struct cut_credential {
  std::string_view scheme;
  std::string_view rest;
};

cut_credential cut(std::string_view authorization) {
  authorization = base::trim(authorization);
  const auto end = std::min(authorization.find_first_of(" \t"), authorization.size());
  return {authorization.substr(0, end), base::trim(authorization.substr(end))};
}

/// Takes a value in quotes. Empty: there is no end, or readers differ in where it is, as not all of
/// them know that a backslash goes before a quote.
std::optional<std::string> take_quoted(std::string_view& text) {
  const auto end = text.find('"', 1);
  if (end == text.npos || text[end - 1] == '\\') return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i < end; ++i) {
    if (text[i] == '\\') ++i;
    out += text[i];
  }
  text.remove_prefix(end + 1);
  return out;
}

std::optional<std::string> take_param_value(std::string_view& text) {
  if (text.starts_with('"')) return take_quoted(text);
  const auto end = std::min(text.find(','), text.size());
  const auto value = base::trim(text.substr(0, end));
  text.remove_prefix(end);
  if (value.find_first_of("\" \t") != value.npos) return std::nullopt;
  return std::string(value);
}

/// Calls `visit(name, value)` for each parameter. False: it is no list of `name=value` between
/// commas and nothing else, so that the service may read it another way.
template <class Visit>
bool each_param(std::string_view rest, const Visit& visit) {
  while (true) {
    rest = base::trim(rest);
    if (rest.empty()) return true;
    if (rest.front() != ',') {
      const auto equals = std::min(rest.find('='), rest.size());
      const auto name = rest.substr(0, equals);
      if (!base::is_token(name) || equals == rest.size()) return false;
      rest.remove_prefix(equals + 1);
      const auto value = take_param_value(rest);
      if (!value) return false;
      visit(name, *value);
      rest = base::trim(rest);
      if (!rest.empty() && rest.front() != ',') return false;
    }
    if (!rest.empty()) rest.remove_prefix(1);
  }
}

/// Whether readers who cut at each of these characters, in quotes too, find the name in a value.
bool holds_param(std::string_view value, std::string_view wanted) {
  while (value.size() > wanted.size()) {
    if (iequals(value.substr(0, wanted.size()), wanted)) {
      const auto next = value.find_first_not_of(" \t", wanted.size());
      if (next != value.npos && (value[next] == '=' || value[next] == '*')) return true;
    }
    value.remove_prefix(std::min(value.find_first_of(",; \t"), value.size() - 1) + 1);
  }
  return false;
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return base::same_name(name, other); });
}

bool is_one_of(std::string_view name, std::span<const std::string> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& other) { return iequals(name, other); });
}

/// Some clients of `Token` and of schemes of their own add these to what stays the same.
/// Services cut at any of the delimiters: Rails takes `token="x"; ts="1"` for two.
bool has_changing_param(std::string_view rest) {
  static constexpr std::array<std::string_view, 19> names{
      "nonce",    "cnonce",      "nc",      "ts",        "timestamp", "signature", "mac",
      "response", "oauth_nonce", "created", "sig",       "sign",      "hmac",      "time",
      "date",     "expires",     "iat",     "body_hash", "request_id"};
  for (auto equals = rest.find('='); equals != rest.npos; equals = rest.find('=', equals + 1)) {
    const auto before = base::trim(rest.substr(0, equals));
    const auto name = before.substr(before.find_last_of(",; \t=") + 1);  // 0, if there is none
    const auto value = base::trim(rest.substr(equals + 1));
    const bool empty = value.find_first_of(",;") == 0 || value.starts_with("\"\"");
    if (!value.empty() && !empty && is_one_of(name, names)) return true;
  }
  return false;
}

std::string_view part_between_colons(std::string_view rest, std::size_t number) {
  for (; number > 1; --number) {
    const auto colon = rest.find(':');
    if (colon == std::string_view::npos) return {};
    rest.remove_prefix(colon + 1);
  }
  return base::trim(rest.substr(0, rest.find(':')));
}

}  // namespace

credential_kind kind_of_credential(std::string_view authorization,
                                   std::span<const std::string> schemes) {
  // Clients with an empty token send only the scheme.
  static constexpr std::array<std::string_view, 4> known{"bearer", "basic", "digest", "token"};
  const auto [scheme, rest] = cut(authorization);
  if (scheme.empty()) return credential_kind::none;
  if (rest.empty()) {
    if (is_one_of(scheme, known)) return credential_kind::none;
    if (is_one_of(bare_scheme, schemes)) return credential_kind::stable;
    return is_one_of(scheme, schemes) ? credential_kind::none : credential_kind::changing;
  }
  const bool listed = is_one_of(scheme, schemes);
  return listed && !has_changing_param(rest) ? credential_kind::stable : credential_kind::changing;
}

std::string_view scheme_of(std::string_view authorization) {
  const auto [scheme, rest] = cut(authorization);
  return !rest.empty() && base::is_token(scheme) ? scheme : std::string_view{};
}

std::optional<std::string> find_auth_param(std::string_view authorization, std::string_view name) {
  const auto [scheme, rest] = cut(authorization);
  if (const auto number = base::number_in<std::size_t>(name)) {
    const auto part = part_between_colons(rest, *number);
    return part.empty() ? std::nullopt : std::optional<std::string>(part);
  }
  std::string found;
  std::size_t times = 0;
  const bool whole = each_param(rest, [&](std::string_view given, std::string_view value) {
    if (holds_param(value, name)) ++times;
    if (!iequals(given.substr(0, given.find('*')), name)) return;
    ++times;  // `name*` is the same in another coding (RFC 8187), and readers differ in which wins
    if (given.size() == name.size()) found = value;
  });
  const auto family = scheme.substr(0, scheme.find('-'));
  if (iequals(name, "credential") && (iequals(family, "aws4") || iequals(family, "goog4"))) {
    found.resize(std::min(found.find('/'), found.size()));  // the date behind it changes daily
  }
  if (!whole || times != 1 || found.empty()) return std::nullopt;
  return found;
}

}  // namespace onceguard::http
