// The way of a request, step by step. Which step follows which: http/request_flow.hpp.
#include <optional>
#include <stop_token>
#include <utility>

#include "base/field.hpp"
#include "base/log.hpp"
#include "engine/held_lease.hpp"
#include "gateway/client_watch.hpp"
#include "gateway/observed_request.hpp"
#include "gateway/probe.hpp"
#include "gateway/request_kind.hpp"
#include "gateway/request_work.hpp"
#include "gateway/session.hpp"
#include "gateway/webhook_delivery.hpp"
#include "http/admission.hpp"
#include "http/client_reply.hpp"
#include "http/kept_parts.hpp"
#include "http/operation.hpp"
#include "http/request_flow.hpp"
#include "http/request_loop.hpp"
#include "http/request_target.hpp"
#include "http/settle_by_answer.hpp"
#include "http/trace_context.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using http::step;
using http::step_end;

namespace {

class served_request {
 public:
  explicit served_request(session& client)
      : client_(client),
        shared_(client.thread().shared),
        report_(client.report()),
        routing_(client.thread().routing),
        job_(client) {}

  asio::awaitable<bool> serve();

 private:
  // The steps. Those that have but one way on give nothing, or whether the connection may be used
  // for another request.
  asio::awaitable<step_end> admit();
  asio::awaitable<step_end> receive();
  step_end identify();
  step_end recall();
  asio::awaitable<step_end> find();
  asio::awaitable<step_end> claim();
  asio::awaitable<step_end> probe();
  asio::awaitable<void> run();
  asio::awaitable<void> settle();
  asio::awaitable<bool> answer();
  asio::awaitable<bool> refuse();
  asio::awaitable<bool> challenge();
  asio::awaitable<bool> observe();
  asio::awaitable<void> run_unguarded();

  void begin_report() noexcept;
  step_end find_route();
  step_end refuse_head(std::string_view why, std::uint16_t status = 0);
  [[nodiscard]] bool scope_changed() const;
  step_end find_replay(const record_id& id, const fingerprint& print);
  asio::awaitable<settle_terms> do_work(lease_handle* lease);

  session& client_;
  gateway_shared& shared_;
  pending_report& report_;
  const routing_ptr routing_;  // the request keeps the routes that it began with
  http::flow flow_;
  http::client_origin origin_;  // if a listed proxy forwarded it
  http::request_trace trace_;   // if traces are sent
  http::request request_;
  const request_kind* kind_ = nullptr;
  http::refusal refusal_;
  std::string challenge_;  // what the sender of a delivery expects back
  work job_;
  operation operation_;
  std::optional<lease_handle> lease_;
  settle_terms terms_;
  outcome outcome_;
};

asio::awaitable<bool> served_request::serve() {
  begin_report();
  bool kept = false;
  while (!flow_.is_over()) {
    auto end = step_end::done;
    switch (flow_.at()) {
      case step::admit:
        end = co_await admit();
        break;
      case step::receive:
        end = co_await receive();
        break;
      case step::identify:
        end = identify();
        break;
      case step::recall:
        end = recall();
        break;
      case step::find:
        end = co_await find();
        break;
      case step::claim:
        end = co_await claim();
        break;
      case step::probe:
        end = co_await probe();
        break;
      case step::run:
        co_await run();
        break;
      case step::settle:
        co_await settle();
        break;
      case step::answer:
        kept = co_await answer();
        break;
      case step::refuse:
        kept = co_await refuse();
        break;
      case step::challenge:
        kept = co_await challenge();
        break;
      case step::forward:
        kept = co_await forward_unguarded(client_);
        break;
      case step::observe:
        kept = co_await observe();
        break;
      case step::run_unguarded:
        co_await run_unguarded();
        break;
      case step::over:
        break;
    }
    flow_.go_on(end);
  }
  report_.finish();
  co_return kept;
}

// ---- from the head to the operation

void served_request::begin_report() noexcept {
  if (shared_.observers.empty()) return;
  const auto& head = client_.head();
  report_.method = head.method;
  report_.path = http::split_target(head.target).path;
  report_.trace_id = http::find_trace_id(head.fields);
  if (const auto* tracer = shared_.tracer) {
    trace_ = tracer->begin(http::find_trace_parent(head.fields));
    report_.trace = &trace_;
  }
}

step_end served_request::refuse_head(std::string_view why, std::uint16_t status) {
  refusal_.more.detail = why;
  refusal_.more.status = status;
  return step_end::refused;
}

/// refused: no route serves the request.
step_end served_request::find_route() {
  const auto& head = client_.head();
  if (head.method == "CONNECT") return refuse_head("CONNECT is not offered.", 501);
  const auto circle = http::circle_fault(head.fields, shared_.loop_mark, shared_.params.max_hops);
  if (!circle.empty()) {
    refusal_.which = http::problem::loop_detected;
    return refuse_head(circle);
  }
  const auto* host_field = base::find_field(head.fields, "host");
  const auto host = host_field == nullptr ? std::string_view() : host_field->value;
  const auto* rule = routing_->match(host, http::path_to_match(head.target), head.method);
  client_.set_rule(rule);
  if (rule == nullptr) {
    return refuse_head("No rule of this gateway fits the host and path.", 404);
  }
  const auto path = http::split_target(head.target).path;
  if (routing_->leads_around_a_key(*rule, host, path, head.method)) {
    return refuse_head(http::around_a_key_text);
  }
  if (routing_table::leads_around_a_signature(*rule, path, head.method)) {
    return refuse_head(http::around_a_signature_text);
  }
  report_.route = rule->name;
  report_.route_index = rule->index;
  kind_ = &kind_of(*rule);
  return step_end::done;
}

asio::awaitable<step_end> served_request::admit() {
  if (find_route() == step_end::refused) co_return step_end::refused;
  const auto& head = client_.head();
  const auto& peer = client_.peer();
  if (peer.trusted) origin_ = http::find_origin(peer.address, head.fields, shared_.trusted);
  request_.method = head.method;
  request_.target = head.target;
  request_.fields = head.fields;
  request_.client_certificate = peer.certificate;
  request_.client_address = peer.trusted ? std::string_view(origin_.address) : peer.address;
  request_.credential_verified = peer.trusted;
  report_.client = request_.client_address;
  auto& admitted = job_.admitted;
  admitted = co_await kind_->admit(client_, request_);
  const auto end = observes(job_.policy(), admitted, head.fields)
                       ? step_end::observed
                       : http::end_of(admitted, refusal_);
  if (end == step_end::unguarded) {
    report_.outcome = http::request_outcome::unguarded;
    report_.why_unguarded = admitted.why;
  }
  if (end == step_end::unguarded || end == step_end::observed) {
    report_.upstream = client_.rule().upstream->name;
  }
  co_return end;
}

asio::awaitable<step_end> served_request::receive() {
  const auto arrived = co_await job_.body.receive();
  if (arrived == body_arrival::gone) co_return step_end::gone;
  if (arrived != body_arrival::whole) {
    refusal_ = job_.body.refusal_of(arrived);
    co_return step_end::refused;
  }
  // Under the former scope, the request would not find a twin that came after the change.
  if (scope_changed()) {
    refusal_ = {http::problem::overloaded, http::problem_detail(milliseconds(1'000))};
    co_return step_end::refused;
  }
  co_return step_end::done;
}

/// Whether a reload has changed the request's scope since its head arrived.
bool served_request::scope_changed() const {
  const auto& latest = client_.thread().routing;
  if (latest == routing_) return false;
  const auto& head = client_.head();
  const auto* host = base::find_field(head.fields, "host");
  const auto* now = latest->match(host == nullptr ? "" : host->value,
                                  http::path_to_match(head.target), head.method);
  return now == nullptr || now->rule.policy.scope != job_.policy().scope;
}

step_end served_request::identify() {
  auto found = kind_->identify(job_);
  refusal_ = std::move(found.refusal);
  challenge_ = std::move(found.challenge);
  if (found.end == step_end::unguarded) report_.why_unguarded = job_.admitted.why;
  if (found.end == step_end::guarded || found.end == step_end::late) {
    operation_ = make_operation(job_);
    report_.set_record(operation_.id, operation_.about->scope, operation_.about->key);
  }
  return found.end;
}

// ---- from the operation to its outcome

step_end served_request::find_replay(const record_id& id, const fingerprint& print) {
  auto found = shared_.engine.find_replay(id, print);
  if (!found) return step_end::unknown;
  outcome_ = http::replay_of(std::move(*found));
  return step_end::known;
}

step_end served_request::recall() {
  auto end = find_replay(operation_.id, operation_.about->print);
  for (const auto& scope : operation_.scopes) {
    if (end == step_end::known) break;
    end = find_replay(scope.id, scope.about->print);
    if (end == step_end::known) {
      report_.set_record(scope.id, scope.about->scope, scope.about->key);
    }
  }
  return end;
}

/// Known is only what was done in its time, and by the same request.
asio::awaitable<step_end> served_request::find() {
  const auto& print = operation_.about->print;
  if (find_replay(operation_.id, print) == step_end::known) co_return step_end::known;
  const auto timeout = shared_.params.store_timeout;
  const auto found = co_await shared_.engine.records().find(operation_.id, timeout);
  if (!found || !*found || (*found)->state != observed_state::completed) {
    co_return step_end::unknown;
  }
  const auto& stored = (*found)->stored;
  if (!stored.answer || stored.about->print != print) co_return step_end::unknown;
  outcome_ = http::replay_of({stored.answer, stored.kept});
  co_return step_end::known;
}

asio::awaitable<step_end> served_request::claim() {
  job_.body.count();
  client_watch client(client_);
  std::stop_source caller(std::nostopstate);
  if (job_.policy().on_busy == on_busy_rule::wait) {
    caller = std::stop_source();
    operation_.caller = caller.get_token();
    client.begin(caller);
  }
  const auto begun = report_.begin_step(&http::request_report::claim_begin);
  auto claimed = co_await shared_.engine.claim(std::move(operation_));
  report_.claim = report_.since(begun);
  client.end();
  outcome_ = std::move(claimed.outcome);
  if (claimed.lease) {
    lease_.emplace(std::move(*claimed.lease));
    report_.set_record(lease_->id(), lease_->about().scope, lease_->about().key);
    report_.attempt = lease_->lease().attempt;
    co_return lease_->must_probe() ? step_end::fenced : step_end::granted;
  }
  if (outcome_.kind != outcome_kind::unguarded) co_return step_end::known;
  report_.why_unguarded = http::unguarded_reason::store;
  co_return step_end::unguarded;
}

asio::awaitable<step_end> served_request::probe() {
  auto question = make_probe_question(job_.policy(), lease_->about().scope, job_.admitted.key,
                                      lease_->lease().token);
  auto found = co_await ask_application(client_.thread().pool, std::move(question), lease_->held());
  http::keep_parts_of(job_.policy(), client_.rule().name, found);
  auto concluded = co_await lease_->conclude(std::move(found));
  if (!concluded) co_return step_end::unknown;
  outcome_ = std::move(*concluded);
  lease_.reset();
  co_return step_end::known;
}

asio::awaitable<settle_terms> served_request::do_work(lease_handle* lease) {
  const auto begun = report_.begin_step(&http::request_report::upstream_begin);
  report_.upstream = kind_->worker(client_.rule());
  auto terms = co_await kind_->run(job_, lease);
  report_.upstream_time = report_.since(begun);
  co_return terms;
}

asio::awaitable<void> served_request::run() { terms_ = co_await do_work(&*lease_); }

asio::awaitable<void> served_request::run_unguarded() {
  report_.outcome = http::request_outcome::unguarded;
  outcome_.kind = outcome_kind::unguarded;
  co_await do_work(nullptr);
}

asio::awaitable<void> served_request::settle() {
  const auto settled_as = terms_.kind;
  const auto unknown_why = terms_.why;
  report_.renewals = lease_->held().renewals();
  const auto begun = report_.begin_step(&http::request_report::settle_begin);
  outcome_ = co_await lease_->settle(std::move(terms_));
  lease_.reset();
  report_.settle = report_.since(begun);
  report_.superseded = outcome_.superseded && report_.sent();
  if (outcome_.superseded) co_return;
  if (outcome_.kind == outcome_kind::ran) report_.settled = settled_as;
  if (report_.settled == settle_kind::abandon) report_.unknown_why = unknown_why;
  if (outcome_.kind == outcome_kind::replay) report_.settled = settle_kind::complete;
}

// ---- what the client gets

asio::awaitable<bool> served_request::answer() { return answer_client(job_, std::move(outcome_)); }

asio::awaitable<bool> served_request::refuse() {
  job_.body.drop();
  return client_.refuse(refusal_.which, std::move(refusal_.more));
}

asio::awaitable<bool> served_request::challenge() {
  job_.body.drop();
  report_.outcome = http::request_outcome::ran;
  const auto reply = accepted_answer(client_.rule().rule.webhook->about(), std::move(challenge_));
  co_return co_await client_.send(reply, client_.style());
}

asio::awaitable<bool> served_request::observe() {
  observed_request observed(client_, std::move(job_.admitted), request_, client_.last_scope());
  const bool kept = co_await forward_unguarded(client_, &observed);
  observed.count();
  co_return kept;
}

}  // namespace

asio::awaitable<bool> serve_request(session& client) {
  served_request request(client);
  const bool kept = co_await request.serve();
  client.set_rule(nullptr);
  co_return kept;
}

}  // namespace onceguard::gateway
