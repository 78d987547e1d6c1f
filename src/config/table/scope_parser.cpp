// How people write whose a key is.
#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/octets.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

error scope_refusal(std::string description) {
  return {errc::invalid_argument, std::move(description)};
}

result<scope_rule> parse_named_scope(scope_source source, std::string_view name,
                                     std::string_view text) {
  if (!base::is_token(name)) {
    return scope_refusal(std::string("expected the name of a ") +
                         (source == scope_source::header ? "header field after \"header:\""
                                                         : "cookie after \"cookie:\"") +
                         ", got " + quoted(text));
  }
  std::string given(name);
  if (source == scope_source::header) {
    std::transform(given.begin(), given.end(), given.begin(), base::ascii_lower);
    if (base::same_name(given, "idempotency-key")) {
      return scope_refusal("the idempotency key can't be its own scope, got " + quoted(text));
    }
    if (base::same_name(given.substr(0, 10), "onceguard-")) {
      return scope_refusal(
          "Onceguard-* headers of a client are removed and can't be a scope, got " + quoted(text));
    }
  }
  return scope_rule{source, std::move(given)};
}

result<scope_rule> parse_auth_param_scope(std::string_view text) {
  std::string names;
  bool plain = true;
  base::each_list_element(text.substr(text.find(':') + 1), [&](std::string_view name) {
    plain = plain && base::is_token(name);
    if (!names.empty()) names += ',';
    names += name;
  });
  if (!plain || names.empty()) {
    return scope_refusal("expected names of parts of Authorization after \"auth-param:\", got " +
                         quoted(text));
  }
  std::transform(names.begin(), names.end(), names.begin(), base::ascii_lower);
  return scope_rule{scope_source::auth_param, std::move(names)};
}

result<scope_rule> parse_single_scope(std::string_view text) {
  if (text == "credential") return scope_rule{scope_source::credential, {}};
  if (text == "address") return scope_rule{scope_source::address, {}};
  if (text == "none") return scope_rule{scope_source::none, {}};
  if (text.starts_with("header:")) {
    return parse_named_scope(scope_source::header, text.substr(7), text);
  }
  if (text.starts_with("cookie:")) {
    return parse_named_scope(scope_source::cookie, text.substr(7), text);
  }
  if (text.starts_with("jwt:")) {
    const auto claim = text.substr(4);
    const bool plain = !claim.empty() && std::all_of(claim.begin(), claim.end(), [](char c) {
      return c > ' ' && c < 0x7f && c != '"' && c != '\\';
    });
    if (!plain) {
      return scope_refusal("expected the name of a claim after \"jwt:\", got " + quoted(text));
    }
    return scope_rule{scope_source::jwt, std::string(claim)};
  }
  if (text.starts_with("auth-param:")) return parse_auth_param_scope(text);
  return scope_refusal(
      "expected \"credential\", \"header:NAME\", \"cookie:NAME\", \"jwt:CLAIM\", "
      "\"auth-param:NAME\", \"address\" or \"none\", got " +
      quoted(text));
}

}  // namespace

result<scope_rule> parse_scope(std::string_view text) {
  constexpr std::string_view joint = " + ";
  std::vector<std::string> parts;
  for (auto rest = text;;) {
    const auto end = rest.find(joint);
    parts.emplace_back(base::trim(rest.substr(0, end)));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + joint.size());
  }
  return parts.size() == 1 ? parse_single_scope(text) : join_scopes(parts);
}

result<scope_rule> join_scopes(const std::vector<std::string>& texts) {
  scope_rule out{scope_source::several, {}};
  for (const auto& text : texts) {
    auto read = parse_scope(text);
    if (!read || texts.size() == 1) return read;
    if (read->source == scope_source::none) {
      return scope_refusal("\"none\" can't be one of several scopes");
    }
    auto more = read->source == scope_source::several ? std::move(read->parts)
                                                      : std::vector<scope_rule>{*read};
    for (auto& part : more) {
      if (std::find(out.parts.begin(), out.parts.end(), part) != out.parts.end()) {
        return scope_refusal(quoted(part.text()) + " is there twice");
      }
      out.parts.push_back(std::move(part));
    }
  }
  return out;
}

result<std::string> parse_credential_scheme(std::string_view text) {
  constexpr std::array<std::string_view, 8> changing{"digest",    "oauth", "hawk",    "signature",
                                                     "negotiate", "ntlm",  "payment", "gcs"};
  if (!base::is_token(text)) {
    return scope_refusal("expected a scheme of Authorization such as \"Bearer\", got " +
                         quoted(text));
  }
  const auto family = text.substr(0, text.find('-'));
  const bool signs = base::iequals(family, "aws4") || base::iequals(family, "goog4") ||
                     std::any_of(changing.begin(), changing.end(), [&](std::string_view scheme) {
                       return base::iequals(text, scheme);
                     });
  if (signs) {
    return scope_refusal(quoted(text) +
                         " is made anew for each try, so each retry would be a stranger and run "
                         "again; take scope = \"auth-param:NAME\"");
  }
  return std::string(text);
}

}  // namespace onceguard::config
