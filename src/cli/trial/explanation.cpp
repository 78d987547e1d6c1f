#include "cli/trial/explanation.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/comma_list.hpp"
#include "base/field.hpp"
#include "base/hex.hpp"
#include "base/url.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/trial/described_head.hpp"
#include "gateway/routing_table.hpp"
#include "http/admission.hpp"
#include "http/operation.hpp"
#include "http/request_target.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::trial {
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
  http::request view;
  view.method = request.method;
  view.target = request.target;
  view.fields = fields;
  view.client_address = request.client_address;
  view.credential_verified = true;  // as if it came through a listed proxy
  // The settings have a default route that matches every request, so `rule` is never null.
  if (table.leads_around_a_key(*out.rule, host == nullptr ? "" : host->value,
                               http::split_target(request.target).path, request.method)) {
    out.admitted.kind = http::admission_kind::refuse;
    out.admitted.detail = http::around_a_key_text;
    return out;
  }
  const auto& policy = out.rule->rule.policy;
  out.admitted = http::admit(policy, view);
  view.body = request.body;
  if (view.body.size() <= policy.max_request_body) {
    http::complete_key(out.admitted, policy,
                       http::make_input(view, policy, out.rule->upstream->identity, out.admitted));
  }
  return out;
}

/// The views are those of the parameters.
fingerprint_input input_of(const assessed& assessed, const http::scope_match& under,
                           const described_request& request,
                           const std::vector<base::field>& fields) {
  http::request view;
  view.method = request.method;
  view.target = request.target;
  view.fields = fields;
  view.body = request.body;
  return http::make_input(view, assessed.rule->rule.policy, assessed.rule->upstream->identity,
                          under);
}

fingerprint make_print(const assessed& assessed, const http::scope_match& under,
                       const described_request& request, const std::vector<base::field>& fields,
                       const fingerprint_rule& rule) {
  return make_fingerprint(rule, input_of(assessed, under, request, fields));
}

}  // namespace

void set_url(described_request& request, const std::string& text) {
  request.target = text;
  if (request.target.starts_with('/')) return;
  const auto url = base::split_url(text);
  request.target = url.path.empty() ? "/" : url.path;
  if (url.query) request.target.append("?").append(*url.query);
  // A client that is given a Host sends that one alone.
  const bool has_host =
      std::any_of(request.fields.begin(), request.fields.end(),
                  [](const auto& field) { return base::iequals(field.first, "host"); });
  if (url.authority && !has_host) request.fields.emplace_back("Host", *url.authority);
}

namespace {

void refuse(explanation& reply, http::problem which, std::string reason) {
  const auto& info = http::info_of(which);
  reply.kind = explanation::effect::refuse;
  reply.problem = info.type;
  reply.status = info.status;
  reply.reason = reason.empty() ? std::string(info.detail) : std::move(reason);
}

}  // namespace

explanation explain(const config::settings& settings, const described_request& request) {
  explanation reply;
  if (const auto fault = fault_in_head(settings, request)) {
    refuse(reply, http::problem::bad_request, std::string(fault->text));
    reply.status = fault->status;
    return reply;
  }
  const gateway::routing_table table(settings.routing);
  const auto fields = views_of(request);
  auto assessed = assess(table, request, fields);
  const auto& rule = assessed.rule->rule;
  const auto& admitted = assessed.admitted;
  reply.route = rule.host + rule.path;
  reply.methods = rule.method;
  reply.upstream = assessed.rule->upstream->name;
  reply.observed = rule.policy.observe;
  reply.unknown = rule.policy.unknown;
  if (rule.policy.probe_mode == probe_rule::ask) reply.probe_after = rule.policy.upstream_timeout;
  switch (admitted.kind) {
    case http::admission_kind::pass:
      reply.reason = admitted.reason;
      return reply;
    case http::admission_kind::refuse:
      refuse(reply, admitted.refusal, admitted.detail);
      return reply;
    case http::admission_kind::guard:
      break;
  }
  if (request.body.size() > rule.policy.max_request_body) {
    refuse(reply, http::problem::request_too_large, {});
    return reply;
  }
  reply.kind = explanation::effect::guard;
  reply.key = admitted.key;
  reply.scope = admitted.scope;
  reply.scope_kind = admitted.scope_kind;
  reply.print = make_print(assessed, admitted, request, fields, http::rule_of(rule.policy));
  reply.id = http::id_of(admitted);
  for (const auto& scope : admitted.former) {
    reply.former.emplace_back(http::id_of(admitted, scope), scope.scope_kind);
  }
  if (http::is_anonymous(admitted.scope_kind)) {
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
    if (http::id_of(assessed.admitted, scope) == id) under = &scope;
  }
  return make_print(assessed, *under, request, fields, *rule);
}

namespace {

std::string explanation_line(std::string_view name, const std::string& value) {
  std::string out(name);
  out.resize(14, ' ');
  return out + value + "\n";
}

std::string_view comparison(bool same) {
  return same ? "the same request" : "another request: it would get 422 key-reused";
}

}  // namespace

std::string explanation_page(const explanation& reply, const std::optional<record_view>& current,
                             const std::optional<bool>& same_request,
                             const std::string& store_note) {
  std::string out;
  if (!reply.upstream.empty()) {  // else the head was refused, before any route
    out += explanation_line(
        "route",
        reply.route + (reply.methods.empty() ? "" : " (" + base::comma_list(reply.methods) + ")"));
    out += explanation_line("upstream", reply.upstream);
  }
  if (reply.kind == explanation::effect::refuse) {
    out += explanation_line("refused", std::to_string(reply.status) + " " + reply.problem);
    return out + explanation_line("why", plain_text(reply.reason) == reply.reason
                                             ? reply.reason
                                             : terminal_text(reply.reason));
  }
  if (reply.kind == explanation::effect::pass)
    return out + explanation_line("guarded", "no: " + reply.reason);
  out += explanation_line("guarded", "yes");
  out += explanation_line("key", plain_text(reply.key));
  out += explanation_line("scope",
                          base::to_hex(reply.scope) + " (" + plain_text(reply.scope_kind) + ")");
  out += explanation_line(
      "fingerprint", base::to_hex(reply.print.value) + " (" + plain_text(reply.print.method) + ")");
  out += explanation_line("record", base::to_hex(reply.id));
  for (const auto& warning : reply.warnings) out += explanation_line("warning", warning);
  if (!store_note.empty()) return out + explanation_line("store", store_note);
  if (!current) return out + explanation_line("store", "no such record: it would run");
  if (same_request) out += explanation_line("compared", std::string(comparison(*same_request)));
  return out + "\n" + keys::record_page(*current);
}

nlohmann::ordered_json explanation_json(const explanation& reply,
                                        const std::optional<record_view>& current,
                                        const std::optional<bool>& same_request,
                                        const std::string& store_note) {
  nlohmann::ordered_json out;
  out["route"] = reply.route;
  out["methods"] = reply.methods;
  out["upstream"] = reply.upstream;
  out["guarded"] = reply.kind == explanation::effect::guard;
  if (!reply.reason.empty()) out["reason"] = reply.reason;
  if (reply.kind == explanation::effect::refuse) {
    out["status"] = reply.status;
    out["problem"] = reply.problem;
  }
  if (reply.kind != explanation::effect::guard) return out;
  out["key"] = reply.key;
  out["scope"] = base::to_hex(reply.scope);
  out["scope_kind"] = reply.scope_kind;
  out["fingerprint"] = base::to_hex(reply.print.value);
  out["fingerprint_method"] = reply.print.method;
  out["record"] = base::to_hex(reply.id);
  out["warnings"] = reply.warnings;
  if (!store_note.empty()) {
    out["store"] = store_note;
  } else if (current) {
    out["current"] = record_json(*current, false);
    if (same_request) out["same_request"] = *same_request;
  } else {
    out["current"] = nullptr;
  }
  return out;
}

}  // namespace onceguard::cli::trial
