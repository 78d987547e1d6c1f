#include "http/admission.hpp"

#include <algorithm>
#include <array>

#include <onceguard/token_verifier.hpp>

#include "base/hash.hpp"
#include "http/body_key.hpp"
#include "http/forwarding.hpp"
#include "http/target.hpp"

namespace onceguard::http {
namespace {

using base::iequals;

std::vector<std::string> caller_marks(std::span<const base::field> fields) {
  std::vector<std::string> out;
  for (const auto& f : fields) {
    if (f.value.empty() || !tells_callers_apart(f.name)) continue;
    std::string mark;
    mark.reserve(f.name.size() + 1 + f.value.size());
    for (const char c : f.name) mark += base::ascii_lower(c);
    mark += ':';
    mark += f.value;
    out.push_back(std::move(mark));
  }
  std::sort(out.begin(), out.end());  // a retry may send its fields in another order
  return out;
}

admission refuse(problem which, std::string detail = {}) {
  admission out;
  out.kind = admission_kind::refuse;
  out.refusal = which;
  out.detail = std::move(detail);
  return out;
}

admission pass(unguarded_reason why, std::string_view reason) {
  admission out;
  out.reason = reason;
  out.why = why;
  return out;
}

struct found_field {
  std::string_view value;
  std::size_t times = 0;
  bool misspelt = false;  ///< another field has a name that applications may take for the same
};

found_field find_once(std::span<const base::field> fields, std::string_view name) {
  found_field out;
  for (const auto& f : fields) {
    if (!base::same_name(f.name, name)) continue;
    if (!iequals(f.name, name)) {
      out.misspelt = true;
    } else if (out.times++ == 0) {
      out.value = f.value;
    }
  }
  return out;
}

/// Whether the field holds more than a scheme: clients with an empty token send only the scheme.
bool is_credential(std::string_view authorization) noexcept {
  static constexpr std::array<std::string_view, 4> schemes{"bearer", "basic", "digest", "token"};
  return !authorization.empty() &&
         std::none_of(schemes.begin(), schemes.end(),
                      [&](std::string_view scheme) { return iequals(authorization, scheme); });
}

/// Whom the request's token speaks of, as far as `claim` says it; the error tells why nobody knows.
result<std::string> find_claim(const route_policy& policy, const std::string& claim,
                               const request& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto refusal = [](std::string why) {
    return error(errc::invalid_argument, std::move(why));
  };
  const auto authorization = find_once(request.fields, "authorization");
  if (authorization.times > 1) return refusal("there is more than one Authorization header");
  if (!iequals(authorization.value.substr(0, scheme.size()), scheme)) {
    return refusal("there is no bearer token in Authorization");
  }
  if (policy.tokens == nullptr) return refusal("no keys are configured");
  return policy.tokens->verify(base::trim(authorization.value.substr(scheme.size())), claim);
}

bool lacks_scope(const admission& admitted) noexcept {
  return admitted.scope_missing ||
         (admitted.kind == admission_kind::refuse && admitted.refusal == problem::scope_missing);
}

std::string missing_scope_text(const route_policy& policy, const request& request) {
  if (policy.scope.source != scope_source::jwt) {
    return "This route takes the scope of a key from " + policy.scope.text() +
           ", which must be sent exactly once.";
  }
  const auto claim = find_claim(policy, policy.scope.name, request);
  return "This route takes the scope of a key from a token: " +
         (claim ? std::string("send it again") : claim.error().detail) + ".";
}

/// Adds the former scopes in which a record of this key may be stored. If the request lacks a
/// former source, no record was stored under that source.
void find_former(const route_policy& policy, const request& request, admission& out) {
  scope_memo none;
  for (const auto& rule : policy.previous_scope) {
    if (auto scope = find_scope(policy, rule, request, none); scope && scope->scope != out.scope) {
      out.former.push_back(std::move(*scope));
    }
  }
}

admission refuse_many_names() {
  return refuse(problem::bad_request,
                "Connection lists more than " + std::to_string(connection_names_max) + " names.");
}

admission refuse_ambiguous_path() {
  return refuse(problem::bad_request,
                "The path contains %2F, %5C or %00, which servers read differently.");
}

found_key fault_of_key(std::string text) {
  found_key out;
  out.present = true;
  out.fault = std::move(text);
  return out;
}

found_key key_of_header(const route_policy& policy, const request& request,
                        const std::string& name) {
  const auto found = find_once(request.fields, name);
  if (found.misspelt) {
    return fault_of_key("The key's header is called " + name + ", with a hyphen.");
  }
  found_key out;
  if (found.times == 0) return out;
  if (found.times > 1) return fault_of_key("There is more than one " + name + " header.");
  auto parsed = parse_key(found.value, policy.key_syntax, policy.key_format);
  if (!parsed) return fault_of_key(name + ": " + parsed.error().detail);
  out.present = true;
  out.key = std::move(*parsed);
  return out;
}

/// An id with an escape, a parameter or a backslash in it, or behind an empty segment, may be
/// another id for the service than for us: then one thing has two keys.
found_key key_of_path(const route_policy& policy, const request& request, std::size_t number) {
  const auto path = normalise_path(split_target(request.target).path);
  std::string_view rest = path;
  std::string_view segment;
  if (!path.starts_with('/')) return {};
  for (std::size_t i = 0; i < number && !rest.empty(); ++i) {
    rest.remove_prefix(1);  // the slash
    segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    if (i + 1 < number && rest.empty()) segment = {};
  }
  found_key out;
  if (segment.empty()) return out;
  const auto which = "Segment " + std::to_string(number) + " of the path, the key, ";
  const auto as_far = std::string_view(path).substr(0, path.size() - rest.size());
  const bool plain = std::all_of(segment.begin(), segment.end(),
                                 [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
  if (!plain || has_other_readings(as_far)) {
    return fault_of_key(which + "must be plain: without escapes, parameters and backslashes.");
  }
  if (segment.size() > key_size_max) {
    return fault_of_key(which + "is longer than " + std::to_string(key_size_max) + " bytes.");
  }
  if (policy.key_format == key_format::uuid && !is_uuid(segment)) {
    return fault_of_key(which + "must be a UUID.");
  }
  out.present = true;
  out.key = segment;
  return out;
}

/// The key that the head has. What stands in the body, or follows from it, is left to complete_key.
found_key find_key(const route_policy& policy, const request& request) {
  found_key found;
  for (const auto& source : policy.key) {
    switch (source.location) {
      case key_location::header:
        join(found, key_of_header(policy, request, source.header), source);
        break;
      case key_location::path:
        join(found, key_of_path(policy, request, source.segment), source);
        break;
      case key_location::json:
      case key_location::content:
        break;
    }
  }
  return found;
}

/// Empty: the problem's own text names the source.
std::string missing_key_text(const route_policy& policy) {
  if (policy.key == route_policy{}.key) return {};
  std::string out;
  for (const auto& source : policy.key) {
    out += out.empty() ? "This route takes the key from " : ", else from ";
    out += description_of(source);
  }
  return out + ".";
}

bool takes_content(const route_policy& policy) noexcept {
  return !policy.key.empty() && policy.key.back().location == key_location::content;
}

admission without_key(const route_policy& policy) {
  return policy.required
             ? refuse(problem::key_missing, missing_key_text(policy))
             : pass(unguarded_reason::no_key, "no key, and the route does not require one");
}

/// `find(request)` gives the scope; none: the request is refused.
template <class Find>
admission admit_with(const route_policy& policy, const request& request, const Find& find) {
  if (lists_too_many(request.fields)) return refuse_many_names();
  const auto& methods = policy.methods;
  if (std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    return pass(unguarded_reason::method, "the method is not guarded on this route");
  }
  auto found = find_key(policy, request);
  const bool from_body = takes_key_from_body(policy);
  if (!found.present && !from_body && !takes_content(policy)) return without_key(policy);
  if (policy.required && has_ambiguous_escape(split_target(request.target).path)) {
    return refuse_ambiguous_path();
  }
  if (!found.fault.empty()) return refuse(problem::key_malformed, std::move(found.fault));
  std::optional<scope_match> scope = find(request);
  admission out;
  out.kind = admission_kind::guard;
  out.key = std::move(found.key);
  out.key_in_body = from_body;
  if (!scope) {
    // A request that turns out to have no key needs no scope.
    if (!from_body || found.present) return refuse(problem::scope_missing);
    out.scope_missing = true;
    return out;
  }
  static_cast<scope_match&>(out) = std::move(*scope);
  find_former(policy, request, out);
  return out;
}

}  // namespace

std::optional<scope_match> find_scope(const route_policy& policy, const scope_rule& rule,
                                      const request& request, scope_memo& last) {
  const auto found = [&](std::string kind, std::string_view value) {
    scope_match out;
    out.scope = last.scope_of(kind, value);
    out.scope_kind = std::move(kind);
    return out;
  };
  switch (rule.source) {
    case scope_source::credential: {
      const auto authorization = find_once(request.fields, "authorization");
      if (authorization.times > 1) return std::nullopt;
      if (is_credential(authorization.value)) return found(rule.text(), authorization.value);
      if (!request.client_certificate.empty()) {
        return found("certificate", request.client_certificate);
      }
      if (!policy.anonymous) return std::nullopt;
      auto out = found("anonymous", "");
      out.more = caller_marks(request.fields);
      return out;
    }
    case scope_source::header: {
      const auto header = find_once(request.fields, rule.name);
      if (header.times != 1 || header.misspelt || header.value.empty()) return std::nullopt;
      return found(rule.text(), header.value);
    }
    case scope_source::cookie: {
      const auto cookie = find_cookie(request.fields, rule.name);
      if (!cookie || cookie->empty()) return std::nullopt;
      return found(rule.text(), *cookie);
    }
    case scope_source::address:
      if (request.client_address.empty()) return std::nullopt;
      return found(rule.text(), request.client_address);
    case scope_source::jwt: {
      const auto claim = find_claim(policy, rule.name, request);
      if (!claim) return std::nullopt;
      return found(rule.text(), *claim);
    }
    case scope_source::none:
      break;
  }
  return found(rule.text(), "");
}

std::optional<std::string_view> find_cookie(std::span<const base::field> fields,
                                            std::string_view name) {
  std::optional<std::string_view> out;
  for (const auto& f : fields) {
    if (!iequals(f.name, "cookie")) continue;
    auto rest = f.value;
    while (!rest.empty()) {
      const auto end = rest.find(';');
      const auto pair = base::trim(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      const auto equals = pair.find('=');
      if (equals == std::string_view::npos || base::trim(pair.substr(0, equals)) != name) continue;
      if (out) return std::nullopt;
      out = base::trim(pair.substr(equals + 1));
      if (*out == "\"\"") out = std::string_view{};
    }
  }
  return out;
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

admission admit(const route_policy& policy, const request& request) {
  scope_memo none;
  return admit(policy, request, none);
}

admission admit(const route_policy& policy, const request& request, scope_memo& last) {
  auto out = admit_with(policy, request, [&](const http::request& arrived) {
    return find_scope(policy, policy.scope, arrived, last);
  });
  if (lacks_scope(out)) out.detail = missing_scope_text(policy, request);
  return out;
}

admission admit(const route_policy& policy, const request& request, const scope_finder& find) {
  auto out = admit_with(policy, request, find);
  if (lacks_scope(out)) out.detail = "The service finds no scope for the key of this request.";
  return out;
}

void complete_key(admission& admitted, const route_policy& policy, const fingerprint_input& input) {
  if (admitted.kind != admission_kind::guard) return;
  if (admitted.key_in_body) {
    found_key found;
    found.present = !admitted.key.empty();
    found.key = admitted.key;
    join_body_keys(found, policy, input.content_type, input.body);
    if (!found.fault.empty()) {
      admitted = refuse(problem::key_malformed, std::move(found.fault));
      return;
    }
    if (!found.present && !takes_content(policy)) {
      admitted = without_key(policy);
      return;
    }
    if (admitted.scope_missing) {
      admitted = refuse(problem::scope_missing, std::move(admitted.detail));
      return;
    }
    admitted.key = std::move(found.key);
  }
  if (!admitted.key.empty()) return;
  auto same = input;
  same.more = admitted.more;
  admitted.key = "content-" + base::to_hex(make_fingerprint(policy.fingerprint, same).value);
}

admission admit_without_key(const request& request) {
  if (lists_too_many(request.fields)) return refuse_many_names();
  if (has_ambiguous_escape(split_target(request.target).path)) return refuse_ambiguous_path();
  admission out;
  out.kind = admission_kind::guard;
  return out;
}

}  // namespace onceguard::http
