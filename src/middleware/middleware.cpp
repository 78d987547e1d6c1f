#include <stdexcept>

#include <onceguard/http.hpp>

#include "guard/blocking.hpp"
#include "http/kept_parts.hpp"
#include "http/request_target.hpp"
#include "middleware/arriving_request.hpp"

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
  if (auto fault = fault_of_parts(policy); !fault.empty()) return fault;
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

void require_guard(const middleware_state& state) {
  if (state.records != nullptr) return;
  throw std::logic_error("onceguard::http::middleware: made without a guard");
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
    const auto named = params.services.find(name);
    auto service = named == params.services.end() ? params.service : named->second;
    routes.push_back(
        {rule, std::move(name), std::move(service), std::make_unique<std::atomic<bool>>(false)});
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
  require_guard(*state_);
  arriving_request arrived(*state_, request);
  arrived.go_on_until(step::claim);
  if (auto known = arrived.known()) return std::move(*known);
  return run_here(arrived.begin({}));
}

asio::awaitable<beginning> middleware::async_begin(request request, std::stop_token caller) const {
  require_guard(*state_);
  arriving_request arrived(*state_, request);
  arrived.go_on_until(step::claim);
  if (auto known = arrived.known()) co_return std::move(*known);
  co_return co_await arrived.begin(std::move(caller));
}

}  // namespace v1
}  // namespace onceguard::http
