#include "http/admission.hpp"

#include <algorithm>

#include "base/field.hpp"
#include "base/hex.hpp"
#include "http/body_key.hpp"
#include "http/forwarded_fields.hpp"
#include "http/request_target.hpp"

namespace onceguard::http {
namespace {

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

/// Adds the former scopes in which a record of this key may be stored. If the request lacks a
/// former source, no record was stored under that source. If the source is there and nobody can
/// tell what it says, a record may be stored, and would not be found: the fault says why.
std::string find_former(const route_policy& policy, const request& request, admission& out) {
  scope_memo none;
  for (const auto& rule : policy.previous_scope) {
    auto found = find_former_scope(policy, rule, request, none);
    if (found.match) {
      if (found.match->scope != out.scope) out.former.push_back(std::move(*found.match));
    } else if (!found.absent) {
      return "A record of this key may stand under the former scope of this route, " + rule.text() +
             ", which can't be looked up: " + found.why;
    }
  }
  return {};
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
  const auto found = base::find_once(request.fields, name);
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

/// `find(request)` gives the scope, or says why there is none: then the request is refused.
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
  scope_lookup scope = find(request);
  admission out;
  out.kind = admission_kind::guard;
  out.key = std::move(found.key);
  out.key_in_body = from_body;
  if (scope.match) {
    static_cast<scope_match&>(out) = std::move(*scope.match);
    scope.why = find_former(policy, request, out);
    if (scope.why.empty()) return out;
  }
  // A request that turns out to have no key needs no scope.
  if (!from_body || found.present) return refuse(problem::scope_missing, std::move(scope.why));
  out.scope_missing = true;
  out.detail = std::move(scope.why);
  return out;
}

}  // namespace

admission admit(const route_policy& policy, const request& request) {
  scope_memo none;
  return admit(policy, request, none);
}

admission admit(const route_policy& policy, const request& request, scope_memo& last) {
  return admit_with(policy, request, [&](const http::request& arrived) {
    return find_scope(policy, policy.scope, arrived, last);
  });
}

admission admit(const route_policy& policy, const request& request, const scope_finder& find) {
  return admit_with(policy, request, [&](const http::request& arrived) {
    scope_lookup out;
    out.match = find(arrived);
    out.why = "The service finds no scope for the key of this request.";
    return out;
  });
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

step_end end_of(admission& admitted, refusal& why) {
  switch (admitted.kind) {
    case admission_kind::pass:
      return step_end::unguarded;
    case admission_kind::refuse:
      why = {admitted.refusal, problem_detail(std::move(admitted.detail))};
      return step_end::refused;
    case admission_kind::guard:
      break;
  }
  return step_end::guarded;
}

refusal body_too_large(const route_policy& policy) {
  return {
      problem::request_too_large,
      problem_detail("A request with an idempotency key may have a body of up to " +
                     std::to_string(policy.max_request_body) + " bytes here. Nothing was run.")};
}

admission admit_without_key(const request& request) {
  if (lists_too_many(request.fields)) return refuse_many_names();
  if (has_ambiguous_escape(split_target(request.target).path)) return refuse_ambiguous_path();
  admission out;
  out.kind = admission_kind::guard;
  return out;
}

}  // namespace onceguard::http
