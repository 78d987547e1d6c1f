#include "cli/explanation.hpp"

#include "base/field.hpp"
#include "gateway/routing.hpp"
#include "http/admission.hpp"
#include "http/target.hpp"

namespace onceguard::cli {
namespace {

std::vector<base::field> views_of(const described_request& request) {
  std::vector<base::field> views;
  views.reserve(request.fields.size());
  for (const auto& [name, value] : request.fields) views.push_back({name, value});
  return views;
}

/// The route for a request, and whether and how the route admits the request.
struct assessed {
  const gateway::route* rule = nullptr;
  http::admission admitted;
};

assessed assess(const gateway::routing_table& table, const described_request& request,
                const std::vector<base::field>& fields) {
  assessed out;
  const auto* host = base::find_field(fields, "host");
  const auto path = http::path_to_match(request.target);
  out.rule = table.match(host == nullptr ? "" : host->value, path, request.method);
  http::request_view view;
  view.method = request.method;
  view.target = request.target;
  view.fields = fields;
  view.client_address = request.client_address;
  // The settings have a default route that matches every request, so `rule` is never null.
  if (table.leads_around_a_key(*out.rule, host == nullptr ? "" : host->value,
                               http::split_target(request.target).path, request.method)) {
    out.admitted.kind = http::admission_kind::refuse;
    out.admitted.detail = gateway::around_a_key_text;
    return out;
  }
  out.admitted = http::admit(out.rule->rule.policy, view);
  return out;
}

fingerprint make_print(const assessed& assessed, const http::scope_match& under,
                       const described_request& request, const std::vector<base::field>& fields,
                       const fingerprint_rule& rule) {
  const auto target = http::split_target(request.target);
  const auto* type = base::find_field(fields, "content-type");
  fingerprint_input input;
  input.upstream = assessed.rule->upstream->identity;
  input.method = request.method;
  input.path = target.path;
  input.query = target.query;
  input.content_type = type == nullptr ? std::string_view{} : type->value;
  input.body = request.body;
  input.more = under.more;
  return make_fingerprint(rule, input);
}

}  // namespace

explanation explain(const config::settings& settings, const described_request& request) {
  const gateway::routing_table table(settings.routing);
  const auto fields = views_of(request);
  const auto assessed = assess(table, request, fields);
  const auto& rule = assessed.rule->rule;
  const auto& admitted = assessed.admitted;
  explanation reply;
  reply.route = rule.host + rule.path;
  reply.methods = rule.method;
  reply.upstream = assessed.rule->upstream->name;
  switch (admitted.kind) {
    case http::admission_kind::pass:
      reply.reason = admitted.reason;
      return reply;
    case http::admission_kind::refuse: {
      const auto& info = http::info_of(admitted.refusal);
      reply.kind = explanation::effect::refuse;
      reply.problem = info.type;
      reply.status = info.status;
      reply.reason = admitted.detail.empty() ? std::string(info.detail) : admitted.detail;
      return reply;
    }
    case http::admission_kind::guard:
      break;
  }
  if (request.body.size() > rule.policy.max_request_body) {
    const auto& info = http::info_of(http::problem::request_too_large);
    reply.kind = explanation::effect::refuse;
    reply.problem = info.type;
    reply.status = info.status;
    reply.reason = info.detail;
    return reply;
  }
  reply.kind = explanation::effect::guard;
  reply.key = admitted.key;
  reply.scope = admitted.scope;
  reply.scope_kind = admitted.scope_kind;
  reply.print = make_print(assessed, admitted, request, fields, rule.policy.fingerprint);
  reply.id = make_record_id(admitted.scope, admitted.key);
  for (const auto& scope : admitted.former) {
    reply.former.emplace_back(make_record_id(scope.scope, admitted.key), scope.scope_kind);
  }
  if (admitted.scope_kind == "anonymous") {
    reply.warnings.emplace_back(
        "nothing tells who the caller is, so all such callers share one scope; set the option "
        "scope");
  }
  return reply;
}

std::optional<fingerprint> print_like(const config::settings& settings,
                                      const described_request& request, const record_id& id,
                                      const std::string& method) {
  const auto rule = fingerprint_rule::parse(method);
  if (!rule) return std::nullopt;
  const gateway::routing_table table(settings.routing);
  const auto fields = views_of(request);
  const auto assessed = assess(table, request, fields);
  const http::scope_match* under = &assessed.admitted;
  for (const auto& scope : assessed.admitted.former) {
    if (make_record_id(scope.scope, assessed.admitted.key) == id) under = &scope;
  }
  return make_print(assessed, *under, request, fields, *rule);
}

}  // namespace onceguard::cli
