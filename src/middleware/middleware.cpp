#include <stdexcept>

#include <onceguard/http.hpp>

#include "base/field.hpp"
#include "guard/blocking.hpp"
#include "http/target.hpp"
#include "middleware/state.hpp"

namespace onceguard::http {
inline namespace v1 {

namespace asio = boost::asio;

namespace {

std::string fault_of_keys(const route_policy& policy) {
  if (policy.key.empty()) return "key has no source";
  for (std::size_t i = 0; i < policy.key.size(); ++i) {
    const auto& source = policy.key[i];
    const bool content = source.location == key_location::content;
    if (source.location == key_location::path && source.segment == 0) {
      return "key: segments of the path count from 1";
    }
    if (source.location == key_location::json) {
      if (!is_json_pointer(source.pointer)) return "key: " + source.pointer + " is no JSON Pointer";
      if (policy.observe) return "key: what stands in the body can't be observed";
    }
    if (content && i + 1 < policy.key.size()) return "key: content must be the last source";
    if (content && policy.observe) return "key: content can't be observed";
    if (content && policy.fingerprint.kind == fingerprint_kind::none) {
      return "key: content needs a fingerprint";
    }
  }
  return {};
}

std::string fault_of(const route& rule, const middleware_params& params, guard* over) {
  const auto& policy = rule.policy;
  if (!rule.path.starts_with('/') || normalise_path(rule.path) != rule.path) {
    return "path is not normalised";
  }
  for (const auto& method : policy.methods) {
    for (const auto* safe : {"GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "QUERY"}) {
      if (method == safe) return "methods: " + method + " can't be guarded";
    }
  }
  if (auto fault = fault_of_keys(policy); !fault.empty()) return fault;
  if (!policy.replay_check.empty()) return "replay_check is the gateway's alone";
  if (auto fault = fault_of_durations(policy); !fault.empty()) return fault;
  // An application that can't complete the record in its transaction would run again what is
  // unknown.
  if (policy.effect == effect_rule::transactional && over != nullptr &&
      !over->records().traits().transactional) {
    return "effect = transactional needs a PostgreSQL store";
  }
  if (policy.unknown == unknown_policy::probe && !params.probe) {
    return "unknown = probe needs middleware_params::probe";
  }
  return {};
}

error refusal_of(std::string why) {
  return error(errc::invalid_argument, "middleware: " + std::move(why));
}

/// What the request comes to without the store.
admitted_request admit(const middleware_state& state, const request& request) {
  if (state.records == nullptr) {
    throw std::logic_error("onceguard::http::middleware: made without a guard");
  }
  auto out = admit_request(state, request);
  if (out.known) return out;
  if (auto found = find_in_memory(out)) out.known.emplace(std::move(*found));
  return out;
}

asio::awaitable<beginning> refuse_late(exchange::state& run) {
  settle_terms terms;
  terms.kind = settle_kind::release;
  auto held = std::move(*run.held);
  run.held.reset();
  static_cast<void>(co_await held.settle(std::move(terms)));
  co_return run.owner->refuse(*run.rule, &run.id, problem::overloaded,
                              problem_detail(milliseconds(1'000)));
}

asio::awaitable<beginning> claim(std::unique_ptr<exchange::state> run, operation wanted) {
  const auto& owner = *run->owner;
  auto got = co_await owner.records->engine().claim(std::move(wanted));
  if (got.lease && got.lease->must_probe()) {
    effect_report found;
    if (owner.params.probe) found = owner.params.probe(got.lease->about(), got.lease->lease());
    if (auto ended = co_await got.lease->conclude(std::move(found))) {
      if (ended->kind == outcome_kind::replay) {
        owner.report({change_kind::completed, "probe"}, *run->rule, &run->id,
                     got.lease->lease().attempt);
      }
      got.outcome = std::move(*ended);
      got.lease.reset();
    }
  }
  if (!got.lease) {
    if (got.outcome.kind == outcome_kind::unguarded) {
      owner.report({change_kind::unguarded}, *run->rule, &run->id);
      co_return exchange(owner, std::move(run));
    }
    co_return run->reply_to_claim(got.outcome);
  }
  run->id = got.lease->id();
  run->attempt = got.lease->lease().attempt;
  const bool begins = got.lease->begin_sending();
  run->held.emplace(std::move(*got.lease));
  if (!begins) co_return co_await refuse_late(*run);
  if (owner.params.on_change) run->watch();
  owner.report({change_kind::claimed}, *run->rule, &run->id, run->attempt);
  co_return exchange(owner, std::move(run));
}

}  // namespace

result<middleware> middleware::make(guard& guard, middleware_params params) {
  return make_over(&guard, std::move(params));
}

result<middleware> middleware::make(middleware_params params) {
  return make_over(nullptr, std::move(params));
}

result<middleware> middleware::make_over(guard* guard, middleware_params params) {
  std::vector<ready_route> routes;
  for (const auto& rule : params.routes) {
    auto name = rule.host + rule.path;
    if (const auto fault = fault_of(rule, params, guard); !fault.empty()) {
      return refusal_of("route " + name + ": " + fault);
    }
    routes.push_back({rule, std::move(name), std::make_unique<std::atomic<bool>>(false)});
  }
  std::vector<address_block> trusted;
  for (const auto& text : params.trusted_proxies) {
    if (!address_block::parse(text, trusted.emplace_back())) {
      return refusal_of("trusted_proxies: " + text + " is no address or block");
    }
  }
  return middleware(std::make_unique<const middleware_state>(
      guard, std::move(params), std::move(routes), std::move(trusted)));
}

middleware::middleware(std::unique_ptr<const middleware_state> made) noexcept
    : state_(std::move(made)) {}
middleware::middleware(middleware&&) noexcept = default;
middleware& middleware::operator=(middleware&&) noexcept = default;
middleware::~middleware() = default;

std::string middleware::observed() const {
  return state_->observed ? state_->observed->json() : std::string();
}

beginning middleware::begin(const request& request) const {
  auto admitted = admit(*state_, request);
  if (admitted.known) return std::move(*admitted.known);
  return run_here(claim(std::move(admitted.run), std::move(admitted.wanted)));
}

asio::awaitable<beginning> middleware::async_begin(request request, std::stop_token caller) const {
  auto admitted = admit(*state_, request);
  if (admitted.known) co_return std::move(*admitted.known);
  admitted.wanted.caller = std::move(caller);
  co_return co_await claim(std::move(admitted.run), std::move(admitted.wanted));
}

}  // namespace v1
}  // namespace onceguard::http
