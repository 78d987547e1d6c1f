#include "http/admission.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "http/target.hpp"

namespace onceguard::http {
namespace {

using base::iequals;

constexpr std::string_view key_field = "idempotency-key";

bool icontains(std::string_view text, std::string_view needle) noexcept {
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(),
                     [](char a, char b) { return base::ascii_lower(a) == b; }) != text.end();
}

/// Could the field tell one caller from another? Used where no scope is to be had.
bool tells_callers_apart(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 9> marks{
      "auth", "cookie", "token", "api-key", "apikey", "session", "user", "tenant", "account"};
  if (iequals(name, "host")) return true;
  if (iequals(name, "user-agent")) return false;
  return std::any_of(marks.begin(), marks.end(),
                     [&](std::string_view mark) { return icontains(name, mark); });
}

std::vector<std::string> caller_marks(std::span<const base::field> fields) {
  std::vector<std::string> out;
  for (const auto& f : fields) {
    if (!tells_callers_apart(f.name)) continue;
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

admission pass(std::string_view reason) {
  admission out;
  out.reason = reason;
  return out;
}

struct found_field {
  std::string_view value;
  std::size_t times = 0;
};

found_field look_for(std::span<const base::field> fields, std::string_view name) {
  found_field out;
  for (const auto& f : fields) {
    if (!iequals(f.name, name)) continue;
    if (out.times++ == 0) out.value = f.value;
  }
  return out;
}

/// Sets scope and scope_kind; false where the configured source can't be used.
bool find_scope(const scope_rule& rule, const request_view& request, scope_memo& last,
                admission& out) {
  const auto set = [&](std::string kind, std::string_view value) {
    out.scope = last.scope_of(kind, value);
    out.scope_kind = std::move(kind);
    return true;
  };
  switch (rule.source) {
    case scope_source::credential: {
      const auto authorization = look_for(request.fields, "authorization");
      if (authorization.times > 1) return false;
      if (authorization.times == 1) return set(rule.text(), authorization.value);
      out.more = caller_marks(request.fields);
      return set("anonymous", "");
    }
    case scope_source::header: {
      const auto header = look_for(request.fields, rule.name);
      return header.times == 1 && !header.value.empty() && set(rule.text(), header.value);
    }
    case scope_source::cookie: {
      const auto cookie = find_cookie(request.fields, rule.name);
      return cookie && !cookie->empty() && set(rule.text(), *cookie);
    }
    case scope_source::address:
      return !request.client_address.empty() && set(rule.text(), request.client_address);
    case scope_source::none:
      return set(rule.text(), "");
  }
  return false;
}

}  // namespace

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
      if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
      if (out) return std::nullopt;
      out = pair.substr(equals + 1);
    }
  }
  return out;
}

bool is_reserved_field(std::string_view name) noexcept {
  return name.size() > 10 && iequals(name.substr(0, 10), "onceguard-");
}

digest scope_memo::scope_of(std::string_view kind, std::string_view value) {
  if (!kind_.empty() && kind_ == kind && value_ == value) return made_;
  const auto made = make_scope_digest(kind, value);
  if (value.size() <= value_max) {
    kind_.clear();  // should an assignment throw, nothing is remembered
    value_ = value;
    made_ = made;
    kind_ = kind;
  }
  return made;
}

admission admit(const route_policy& policy, const request_view& request) {
  scope_memo none;
  return admit(policy, request, none);
}

admission admit(const route_policy& policy, const request_view& request, scope_memo& last) {
  const auto& methods = policy.methods;
  if (std::find(methods.begin(), methods.end(), request.method) == methods.end()) {
    return pass("the method is not guarded on this route");
  }
  const auto key = look_for(request.fields, key_field);
  if (key.times == 0) {
    return policy.required ? refuse(problem::key_missing)
                           : pass("no Idempotency-Key, and the route does not require one");
  }
  if (policy.required && has_ambiguous_escape(split_target(request.target).path)) {
    return refuse(problem::bad_request,
                  "The path contains %2F, %5C or %00, which servers read differently.");
  }
  if (key.times > 1) {
    return refuse(problem::key_malformed, "There is more than one Idempotency-Key header.");
  }
  auto parsed = parse_key(key.value, policy.key_syntax, policy.key_format);
  if (!parsed) {
    return refuse(problem::key_malformed, "Idempotency-Key: " + parsed.error().detail);
  }
  admission out;
  out.kind = admission_kind::guard;
  out.key = std::move(*parsed);
  if (!find_scope(policy.scope, request, last, out)) {
    return refuse(problem::scope_missing, "This route takes the scope of a key from " +
                                              policy.scope.text() +
                                              ", which must be sent exactly once.");
  }
  return out;
}

}  // namespace onceguard::http
