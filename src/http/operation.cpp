#include "http/operation.hpp"

#include "base/field.hpp"
#include "core/kept_key.hpp"
#include "http/request_target.hpp"
#include "http/route_table.hpp"

namespace onceguard::http {
namespace {

scoped_operation make_scoped(const admission& admitted, const scope_match& under,
                             const route_policy& policy, const std::string& route_name,
                             const fingerprint_input& input) {
  scoped_operation out;
  out.input = input;
  out.input.more = under.more;
  if (!under.more.empty()) out.more_before = under.more_before;
  auto about = std::make_shared<subject>();
  about->scope = under.scope;
  about->scope_kind = under.scope_kind;
  about->key = core::kept_key(admitted.key);
  out.id = make_record_id(under.scope, about->key);
  about->method = input.method;
  about->path = input.path;
  about->route = route_name;
  about->print = make_fingerprint(rule_of(policy), out.input);
  about->run_timeout = policy.upstream_timeout;
  out.about = std::move(about);
  return out;
}

}  // namespace

fingerprint_input make_input(const request& request, const route_policy& policy,
                             std::string_view service, const scope_match& under) {
  const auto value_of = [&](std::string_view name) {
    const auto* found = base::find_field(request.fields, name);
    return found == nullptr ? std::string_view{} : found->value;
  };
  const auto target = split_target(request.target);
  fingerprint_input input;
  input.upstream = service;
  input.method = request.method;
  input.path = target.path;
  input.query = target.query.value_or("");
  input.content_type = value_of("content-type");
  input.body = request.body;
  input.more = under.more;
  input.host = without_port(value_of("host"));
  input.content_encoding = value_of("content-encoding");
  input.fields = request.fields;
  input.longest_body = policy.max_request_body;
  return input;
}

fingerprint_rule rule_of(const route_policy& policy) {
  auto out = policy.fingerprint;
  out.head = policy.fingerprint_head;
  out.headers = policy.fingerprint_headers;
  return out;
}

record_id id_of(const admission& admitted) { return id_of(admitted, admitted); }

record_id id_of(const admission& admitted, const scope_match& under) {
  return make_record_id(under.scope, core::kept_key(admitted.key));
}

operation make_operation(const admission& admitted, const route_policy& policy,
                         const std::string& route_name, const fingerprint_input& input) {
  operation op;
  static_cast<scoped_operation&>(op) = make_scoped(admitted, admitted, policy, route_name, input);
  if (!admitted.former.empty()) op.scopes.push_back(op);
  for (const auto& former : admitted.former) {
    op.scopes.push_back(make_scoped(admitted, former, policy, route_name, input));
  }
  op.policy = &policy;
  return op;
}

}  // namespace onceguard::http
