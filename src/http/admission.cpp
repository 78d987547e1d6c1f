#include "http/admission.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "http/forwarding.hpp"
#include "http/target.hpp"

namespace onceguard::http {
namespace {

using base::iequals;

constexpr std::string_view key_field = "idempotency-key";

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

/// Adds the former scopes in which a record of this key may be stored. If the request lacks a
/// former source, no record was stored under that source.
void find_former(const route_policy& policy, const request& request, admission& out) {
  scope_memo none;
  for (const auto& rule : policy.previous_scope) {
    if (auto scope = find_scope(rule, request, none); scope && scope->scope != out.scope) {
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

/// `find(request)` gives the scope; none: the request is refused.
template <class Find>
admission admit_with(const route_policy& policy, const request& request, const Find& find) {
  if (lists_too_many(request.fields)) return refuse_many_names();
  const auto& methods = policy.methods;
  if (std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    return pass(unguarded_reason::method, "the method is not guarded on this route");
  }
  const auto key = find_once(request.fields, key_field);
  if (key.misspelt) {
    return refuse(problem::key_malformed,
                  "The key's header is called Idempotency-Key, with a hyphen.");
  }
  if (key.times == 0) {
    return policy.required ? refuse(problem::key_missing)
                           : pass(unguarded_reason::no_key,
                                  "no Idempotency-Key, and the route does not require one");
  }
  if (policy.required && has_ambiguous_escape(split_target(request.target).path)) {
    return refuse_ambiguous_path();
  }
  if (key.times > 1) {
    return refuse(problem::key_malformed, "There is more than one Idempotency-Key header.");
  }
  auto parsed = parse_key(key.value, policy.key_syntax, policy.key_format);
  if (!parsed) {
    return refuse(problem::key_malformed, "Idempotency-Key: " + parsed.error().detail);
  }
  std::optional<scope_match> scope = find(request);
  if (!scope) return refuse(problem::scope_missing);
  admission out;
  out.kind = admission_kind::guard;
  out.key = std::move(*parsed);
  static_cast<scope_match&>(out) = std::move(*scope);
  find_former(policy, request, out);
  return out;
}

}  // namespace

std::optional<scope_match> find_scope(const scope_rule& rule, const request& request,
                                      scope_memo& last) {
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
    return find_scope(policy.scope, arrived, last);
  });
  if (out.kind == admission_kind::refuse && out.refusal == problem::scope_missing) {
    out.detail = "This route takes the scope of a key from " + policy.scope.text() +
                 ", which must be sent exactly once.";
  }
  return out;
}

admission admit(const route_policy& policy, const request& request, const scope_finder& find) {
  auto out = admit_with(policy, request, find);
  if (out.kind == admission_kind::refuse && out.refusal == problem::scope_missing) {
    out.detail = "The service finds no scope for the key of this request.";
  }
  return out;
}

admission admit_without_key(const request& request) {
  if (lists_too_many(request.fields)) return refuse_many_names();
  if (has_ambiguous_escape(split_target(request.target).path)) return refuse_ambiguous_path();
  admission out;
  out.kind = admission_kind::guard;
  return out;
}

}  // namespace onceguard::http
