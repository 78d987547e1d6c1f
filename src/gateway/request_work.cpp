#include "gateway/request_work.hpp"

#include <utility>

#include "base/log.hpp"
#include "http/operation.hpp"
#include "http/problem.hpp"

namespace onceguard::gateway {

namespace {

void hint_scope(session& client) {
  const auto& rule = client.rule();
  if (!client.thread().scope_hinted.insert(&rule).second) return;
  if (!client.thread().shared.first_hint(rule.name)) return;
  base::log(base::event::anonymous_scope,
            {{"route", rule.name},
             {"hint",
              "a request had no Authorization, so its callers share one scope; configure scope = "
              "\"header:NAME\", \"cookie:NAME\", \"address\" or \"none\" for this route"}});
}

}  // namespace

settle_terms work::fail(call_failure failed) {
  failure = failed.problem;
  base::log(http::event_of(failed.problem),
            {{"upstream", client.report().upstream}, {"why", std::move(failed.why)}});
  settle_terms terms;
  terms.kind = failed.kind;
  terms.why = failed.reason;
  return terms;
}

std::optional<call_failure> work::begin_sending(lease_handle* lease) {
  if (lease == nullptr) return std::nullopt;
  if (!lease->begin_sending()) {
    return call_failure{settle_kind::release, http::problem::overloaded, unknown_reason::none,
                        "too little of the lease was left to begin, or the gateway ends"};
  }
  client.report().begin_sending();
  return std::nullopt;
}

fingerprint_input input_of(const session& client, const http::scope_match& under,
                           std::string_view body) {
  const auto& head = client.head();
  const auto& rule = client.rule();
  http::request request;
  request.method = head.method;
  request.target = head.target;
  request.fields = head.fields;
  request.body = body;
  return http::make_input(request, rule.rule.policy, rule.upstream->identity, under);
}

operation make_operation(work& job) {
  const auto& rule = job.client.rule();
  const auto& policy = job.policy();
  const auto input = input_of(job.client, job.admitted, job.body.bytes());
  auto out = http::make_operation(job.admitted, policy, rule.name, input);
  out.upstream = rule.upstream->name;
  out.answer_room = &job.answer_room;
  out.usual_answer = rule.answers.usual(policy.max_answer_body);
  out.longest_answer = policy.max_answer_body;
  if (http::is_anonymous(job.admitted.scope_kind)) hint_scope(job.client);
  return out;
}

}  // namespace onceguard::gateway
