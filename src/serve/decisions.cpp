#include "serve/decisions.hpp"

#include <boost/asio/this_coro.hpp>

#include "base/for_ever.hpp"
#include "engine/background.hpp"
#include "serve/claim_by_parts.hpp"
#include "serve/claim_by_request.hpp"
#include "serve/settle_attempt.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

namespace {

/// Between two looks whether an earlier try of a claim is over.
constexpr milliseconds claim_poll{5};

}  // namespace

decisions::decisions(guard& records, const serve_params& params)
    : records_(records), problem_base_(params.problem_base) {}

result<void> decisions::set_rules(serve_rules rules) {
  auto made = live_rules::make(records_, std::move(rules), problem_base_);
  if (!made) return std::move(made).error();
  const auto& given = (*made)->given;
  expect(given.defaults);
  for (const auto& each : given.policies.named) expect(*each);
  for (const auto& each : given.routes) expect(each.policy);
  const std::lock_guard lock(mutex_);
  rules_ = std::move(*made);
  return {};
}

void decisions::expect(const route_policy& policy) {
  records_.engine().expect(base::bounded(policy.lease) + base::bounded(policy.upstream_timeout),
                           policy.retention);
}

rules_ptr decisions::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

std::optional<reply_message> decisions::bind(claim_call& call) {
  if (!call.claim) return std::nullopt;
  const auto members = digest_of(call);
  if (!bindings_.bind(*call.claim, members)) {
    return claim_reused(problem_base_, "it came before with other members");
  }
  // At the store, too, after a restart: with other members it is another claim.
  call.claim = bound_id(*call.claim, members);
  return std::nullopt;
}

asio::awaitable<claim_reply> decisions::claim(claim_call call, caller asker) {
  if (auto refused = bind(call)) {
    claim_reply out;
    out.message = *std::move(refused);
    co_return out;
  }
  claim_turns turns(held_);
  if (call.claim) static_cast<void>(turns.add(*call.claim));
  co_return co_await claim_in_turn(std::move(call), asker, turns);
}

asio::awaitable<claim_reply> decisions::claim_in_turn(claim_call call, caller asker,
                                                      claim_turns& turns) {
  claim_under_way under_way;
  if (call.claim) {
    // Of two tries of one claim, the later one gets what the earlier one has got.
    while (!turns.begin()) {
      if (asker.gone.stop_requested()) co_return claim_reply();  // nobody reads it
      co_await sleep_for(claim_poll);
    }
    under_way = turns.take(*call.claim);
    if (auto held = held_.take_claimed(*call.claim)) {
      held->connection = asker.connection;
      claim_reply out;
      put_lease(out.message, *held);
      out.operation = held->id;
      if (held_.put(held)) {
        out.under_way = std::move(under_way);
        co_return out;
      }
      held->let_go();
    }
  }
  auto out = co_await decide(call, asker);
  out.under_way = std::move(under_way);
  co_return out;
}

asio::awaitable<claim_reply> decisions::decide(const claim_call& call, const caller& asker) {
  claim_reply out;
  const bool full = !held_.has_room();
  if (full || draining_) {
    out.message = service_problem(
        problem_base_, 503, full ? "overloaded" : "draining",
        full ? "No capacity at the moment" : "The service is being stopped",
        "Nothing was claimed. Send the same claim again after the time in Retry-After.",
        milliseconds(1'000));
    co_return out;
  }
  if (call.request) {
    claim_by_request attempt(*this, call, asker);
    co_return co_await attempt.run();
  }
  claim_by_parts attempt(*this, call, asker);
  co_return co_await attempt.run();
}

asio::awaitable<void> decisions::give_back(std::string operation) {
  const auto held = held_.take(operation);
  if (!held) co_return;
  auto* const lease = held->handle();
  if (lease == nullptr) co_return;
  settle_terms terms;
  terms.kind = settle_kind::release;
  static_cast<void>(co_await lease->settle(std::move(terms)));
}

asio::awaitable<reply_message> decisions::settle(std::string id, settle_call call,
                                                 connection_number asker) {
  settle_attempt attempt(*this, std::move(id), std::move(call), asker);
  co_return co_await attempt.run();
}

asio::awaitable<result<operation_ptr>> decisions::resume(const operation_id& id) {
  auto held = std::make_shared<held_operation>();
  held->rules = rules();
  held->answer_room = byte_reservation(records_.budget());
  held->id = id.text();
  operation wanted;
  wanted.id = id.record;
  wanted.answer_room = &held->answer_room;
  wanted.policy = held->rules->defaults.get();
  const http::ready_route* route = nullptr;
  if (id.kind == rules_kind::route) {
    const auto split = id.rules.find(' ');
    const auto method = std::string_view(id.rules).substr(0, split);
    const auto name = split == id.rules.npos ? std::string() : id.rules.substr(split + 1);
    route = held->rules->route(name, method);
    // A route that a reload took away.
    if (route == nullptr) route = held->rules->route("/", method);
    if (route != nullptr) wanted.policy = &route->rule.policy;
  } else {
    auto found = held->rules->policy(id.kind, id.rules);
    held->policy = found ? std::move(*found) : held->rules->defaults;
    wanted.policy = held->policy.get();
  }
  auto got = co_await records_.engine().resume(std::move(wanted), id.held, id.mark);
  if (!got) co_return std::move(got).error();
  if (!*got) co_return operation_ptr();
  if (route == nullptr) {
    if (!held->policy) held->policy = held->rules->defaults;
    held->lease.emplace(std::move(**got));
    co_return held;
  }
  const auto& owner = held->rules->routes.state();
  auto state = std::make_unique<http::exchange::state>(owner, *route, http::admission{},
                                                       std::span<const field>());
  state->id = id.record;
  state->attempt = (*got)->lease().attempt;
  state->held.emplace(std::move(**got));
  held->exchange.emplace(owner, std::move(state));
  co_return held;
}

}  // namespace onceguard::serve
