#include "http/scope.hpp"

#include <algorithm>

#include <onceguard/fingerprint.hpp>
#include <onceguard/token_verifier.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "http/authorization.hpp"
#include "http/caller_fields.hpp"

namespace onceguard::http {
namespace {

using base::iequals;

constexpr std::string_view bearer = "bearer ";

bool is_key_header(const route_policy& policy, std::string_view name) {
  return std::any_of(policy.key.begin(), policy.key.end(), [&](const key_source& source) {
    return source.location == key_location::header && iequals(source.header, name);
  });
}

/// A field as a mark of its sender.
std::string mark_of(const base::field& f) {
  std::string out;
  out.reserve(f.name.size() + 1 + f.value.size());
  for (const char c : f.name) out += base::ascii_lower(c);
  out += ':';
  out += f.value;
  return out;
}

base::sole_field read_cookie(std::span<const base::field> fields, std::string_view name) {
  base::sole_field out;
  for (const auto& f : fields) {
    if (!iequals(f.name, "cookie")) continue;
    auto rest = f.value;
    while (!rest.empty()) {
      const auto end = rest.find(';');
      const auto pair = base::trim(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      const auto equals = pair.find('=');
      if (equals == std::string_view::npos || base::trim(pair.substr(0, equals)) != name) continue;
      ++out.times;
      out.value = base::trim(pair.substr(equals + 1));
      if (out.value == "\"\"") out.value = std::string_view{};
    }
  }
  return out;
}

void add_part(std::string& value, std::string_view part) {
  value += std::to_string(part.size());
  value += ':';
  value += part;
}

class finder {
 public:
  finder(const route_policy& policy, const request& request, scope_memo& last, bool former)
      : policy_(policy), request_(request), last_(last), former_(former) {}

  [[nodiscard]] scope_lookup find(const scope_rule& rule) {
    if (rule.source == scope_source::several) return all_of(rule);
    auto source = read(rule);
    scope_lookup out;
    out.absent = source.absent;
    out.why = std::move(source.why);
    if (!source.found) return out;
    auto& match = out.match.emplace();
    match.scope = last_.scope_of(source.kind, source.value);
    match.scope_kind = std::move(source.kind);
    if (source.anonymous) add_marks(match);
    return out;
  }

 private:
  struct source_value {
    bool found = false;
    bool absent = false;
    bool anonymous = false;
    std::string kind;
    std::string value;
    std::string why;
  };

  static source_value known(std::string kind, std::string_view value) {
    source_value out;
    out.found = true;
    out.kind = std::move(kind);
    out.value = value;
    return out;
  }
  static source_value lacks(bool absent, std::string why) {
    source_value out;
    out.absent = absent;
    out.why = std::move(why);
    return out;
  }
  static source_value not_once(const scope_rule& rule, bool absent) {
    return lacks(absent, "This route takes the scope of a key from " + rule.text() +
                             ", which must be sent exactly once.");
  }

  [[nodiscard]] source_value read(const scope_rule& rule) const {
    switch (rule.source) {
      case scope_source::credential:
        return credential(rule);
      case scope_source::header: {
        const auto header = base::find_once(request_.fields, rule.name);
        const bool absent = !header.misspelt && header.times < 2 && header.value.empty();
        if (absent || header.times != 1 || header.misspelt || header.value.empty()) {
          return not_once(rule, absent);
        }
        return known(rule.text(), header.value);
      }
      case scope_source::cookie:
        return cookie(rule);
      case scope_source::address:
        if (request_.client_address.empty()) return not_once(rule, false);
        return known(rule.text(), request_.client_address);
      case scope_source::jwt:
        return claim(rule);
      case scope_source::auth_param:
        return auth_param(rule);
      case scope_source::none:
      case scope_source::several:
        break;
    }
    return known(rule.text(), "");
  }

  [[nodiscard]] source_value credential(const scope_rule& rule) const {
    const auto authorization = base::find_once(request_.fields, "authorization");
    if (authorization.times > 1) return not_once(rule, false);
    switch (kind_of_credential(authorization.value, policy_.credential_schemes)) {
      case credential_kind::stable:
        return known(rule.text(), authorization.value);
      case credential_kind::changing:
        if (former_) return known(rule.text(), authorization.value);
        return lacks(false, changing_text(authorization.value));
      case credential_kind::none:
        break;
    }
    if (!request_.client_certificate.empty()) {
      return known("certificate", request_.client_certificate);
    }
    return nobody(rule);
  }

  /// Of a caller who shows no credential, if only to be asked for one.
  [[nodiscard]] source_value nobody(const scope_rule& rule) const {
    if (!policy_.anonymous && !former_) return not_once(rule, true);
    auto out = known("anonymous", "");
    out.anonymous = true;
    return out;
  }

  static std::string changing_text(std::string_view authorization) {
    const auto scheme = scheme_of(authorization);
    return (scheme.empty() ? std::string("An Authorization without a scheme")
                           : "Authorization of the scheme " + std::string(scheme)) +
           " may differ at each try, so it does not say whose key this is. The operator can set "
           "scope = \"auth-param:NAME\" for the part of it that stays, or another scope; "
           "credential_schemes lists the schemes whose value stays the same.";
  }

  [[nodiscard]] source_value cookie(const scope_rule& rule) const {
    const auto found = read_cookie(request_.fields, rule.name);
    if (found.times == 1 && !found.value.empty()) return known(rule.text(), found.value);
    return not_once(rule, found.times < 2);
  }

  /// Whom the request's token speaks of, as far as the claim says it.
  [[nodiscard]] source_value claim(const scope_rule& rule) const {
    const auto refusal = [](bool absent, const std::string& why) {
      return lacks(absent, "This route takes the scope of a key from a token: " + why + ".");
    };
    const auto authorization = base::find_once(request_.fields, "authorization");
    if (authorization.times > 1) {
      return refusal(false, "there is more than one Authorization header");
    }
    if (!iequals(authorization.value.substr(0, bearer.size()), bearer)) {
      return refusal(true, "there is no bearer token in Authorization");
    }
    if (policy_.tokens == nullptr) return refusal(false, "no keys are configured");
    const auto token = base::trim(authorization.value.substr(bearer.size()));
    auto found = policy_.tokens->verify(token, rule.name);
    if (!found) return refusal(false, found.error().detail);
    return known(rule.text(), *found);
  }

  /// Nobody here verified the parts. Whoever writes them himself must not get what belongs to them.
  [[nodiscard]] source_value auth_param(const scope_rule& rule) const {
    const auto authorization = base::find_once(request_.fields, "authorization");
    if (authorization.times < 2 && authorization.value.empty()) return nobody(rule);
    const auto scheme = scheme_of(authorization.value);
    if (authorization.times != 1 || scheme.empty()) return not_once(rule, false);
    if (policy_.replay_check.empty() && !request_.credential_verified) {
      return lacks(false,
                   "This route takes the scope of a key from Authorization only where a listed "
                   "proxy has verified it, and this request came from none.");
    }
    std::string value;
    std::string lower(scheme);
    std::transform(lower.begin(), lower.end(), lower.begin(), base::ascii_lower);
    add_part(value, lower);
    bool whole = true;
    base::each_list_element(rule.name, [&](std::string_view name) {
      const auto part = find_auth_param(authorization.value, name);
      whole = whole && part.has_value();
      add_part(value, part.value_or(""));
    });
    return whole ? known(rule.text(), value) : not_once(rule, false);
  }

  [[nodiscard]] scope_lookup all_of(const scope_rule& rule) const {
    scope_lookup out;
    std::string kind;
    std::string value;
    bool anonymous = false;
    for (const auto& part : rule.parts) {
      auto source = read(part);
      out.absent = out.absent || source.absent;
      if (!source.found && out.why.empty()) out.why = std::move(source.why);
      anonymous = anonymous || source.anonymous;
      kind += (kind.empty() ? "" : " + ") + source.kind;
      add_part(value, source.kind);
      add_part(value, source.value);
    }
    if (!out.why.empty()) return out;
    auto& match = out.match.emplace();
    match.scope = last_.scope_of(kind, value);
    match.scope_kind = std::move(kind);
    if (anonymous) add_marks(match);
    return out;
  }

  /// In one order: a retry may send the fields in another one.
  void add_marks(scope_match& match) const {
    for (const auto& f : request_.fields) {
      if (f.value.empty() || !tells_callers_apart(f.name)) continue;
      auto mark = mark_of(f);
      if (names_a_caller(f.name)) match.more_before.push_back(mark);
      if (!is_key_header(policy_, f.name)) match.more.push_back(std::move(mark));
    }
    std::sort(match.more_before.begin(), match.more_before.end());
    std::sort(match.more.begin(), match.more.end());
    // No list of one kind is ever one of the other kind, whose fields are fewer.
    match.more.insert(match.more.begin(), "all fields");
  }

  const route_policy& policy_;
  const request& request_;
  scope_memo& last_;
  const bool former_;
};

bool takes_token(const scope_rule& rule) {
  return rule.source == scope_source::jwt ||
         std::any_of(rule.parts.begin(), rule.parts.end(), takes_token);
}

}  // namespace

std::string_view find_token(const route_policy& policy, const request& request) {
  const auto& former = policy.previous_scope;
  if (policy.tokens == nullptr) return {};
  if (!takes_token(policy.scope) && std::none_of(former.begin(), former.end(), takes_token)) {
    return {};
  }
  const auto& methods = policy.methods;
  if (std::find(methods.begin(), methods.end(), request.method) == methods.end()) return {};
  const auto authorization = base::find_once(request.fields, "authorization");
  if (!iequals(authorization.value.substr(0, bearer.size()), bearer)) return {};
  return base::trim(authorization.value.substr(bearer.size()));
}

scope_lookup find_scope(const route_policy& policy, const scope_rule& rule, const request& request,
                        scope_memo& last) {
  return finder(policy, request, last, false).find(rule);
}

scope_lookup find_former_scope(const route_policy& policy, const scope_rule& rule,
                               const request& request, scope_memo& last) {
  return finder(policy, request, last, true).find(rule);
}

digest scope_memo::scope_of(std::string_view kind, std::string_view value) {
  if (!kind_.empty() && kind_ == kind && value_ == value) return made_;
  const auto made = make_scope_digest(kind, value);
  if (value.size() <= value_max) {
    kind_.clear();  // if an assignment throws, nothing is remembered
    value_ = value;
    made_ = made;
    kind_ = kind;
  }
  return made;
}

}  // namespace onceguard::http
