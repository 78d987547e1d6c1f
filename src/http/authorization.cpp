#include "http/authorization.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "base/field.hpp"
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

/// Reads `text` up to the closing quote, which is left out.
std::string take_quoted(std::string_view& text) {
  std::string out;
  text.remove_prefix(1);
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    out += text.front();
    text.remove_prefix(1);
  }
  text.remove_prefix(std::min<std::size_t>(1, text.size()));
  return out;
}

/// Calls `visit(name, value)` for each parameter. What is none is skipped.
template <class Visit>
void each_param(std::string_view rest, const Visit& visit) {
  while (!rest.empty()) {
    const auto stop = rest.find_first_of("=,");
    if (stop == std::string_view::npos) return;
    const auto name = base::trim(rest.substr(0, stop));
    const bool named = rest[stop] == '=';
    rest.remove_prefix(stop + 1);
    if (!named) continue;
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    std::string value;
    if (rest.starts_with('"')) {
      value = take_quoted(rest);
      rest.remove_prefix(std::min(rest.find(','), rest.size()));
    } else {
      const auto end = std::min(rest.find(','), rest.size());
      value = base::trim(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
    visit(name, std::move(value));
  }
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return iequals(name, other); });
}

bool is_one_of(std::string_view name, std::span<const std::string> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& other) { return iequals(name, other); });
}

/// Some clients of `Token` and of schemes of their own add these to what stays the same.
bool has_changing_param(std::string_view rest) {
  static constexpr std::array<std::string_view, 9> names{
      "nonce", "cnonce", "nc", "ts", "timestamp", "signature", "mac", "response", "oauth_nonce"};
  if (rest.find('=') == std::string_view::npos) return false;
  bool found = false;
  each_param(rest, [&](std::string_view name, const std::string& value) {
    found = found || (!value.empty() && is_one_of(name, names));
  });
  return found;
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
  std::size_t number = 0;
  const auto* end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  if (read.ec == std::errc{} && read.ptr == end) {
    const auto part = part_between_colons(rest, number);
    return part.empty() ? std::nullopt : std::optional<std::string>(part);
  }
  std::string found;
  std::size_t times = 0;
  each_param(rest, [&](std::string_view given, std::string value) {
    if (!iequals(given, name)) return;
    ++times;
    found = std::move(value);
  });
  const auto family = scheme.substr(0, scheme.find('-'));
  if (iequals(name, "credential") && (iequals(family, "aws4") || iequals(family, "goog4"))) {
    found.resize(std::min(found.find('/'), found.size()));  // the date behind it changes daily
  }
  if (times != 1 || found.empty()) return std::nullopt;
  return found;
}

}  // namespace onceguard::http
