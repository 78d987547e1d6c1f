#include "application.hpp"

#include <array>
#include <stdexcept>
#include <utility>

#include <boost/asio/co_spawn.hpp>

namespace onceguard::sim {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::json;

namespace {

json message_of(const client_request& request) {
  const auto& key = *request.key;
  json out{{"scope", std::string(scene_key::scope)},
           {"key", key.name()},
           {"fingerprint", scene_key::text_of(request.print)},
           {"policy", key.name()}};
  if (key.into_started) out["dispatch"] = false;
  return out;
}

/// The number of a stored answer, which is its body; 0: there is none.
std::uint64_t number_in(const json& members) {
  const auto found = members.find("answer");
  return found == members.end() ? 0 : std::stoull(found->value("body", "0"));
}

answer_kind kind_of(const std::string& verdict, const json& members) {
  using named = std::pair<std::string_view, answer_kind>;
  constexpr std::array<named, 8> kinds{
      named{"busy", answer_kind::busy},        {"left", answer_kind::busy},
      {"backoff", answer_kind::backoff},       {"mismatch", answer_kind::mismatch},
      {"unknown", answer_kind::unknown},       {"superseded", answer_kind::superseded},
      {"unrecorded", answer_kind::unrecorded}, {"refused", answer_kind::refused}};
  if (verdict == "replay") return number_in(members) == 0 ? answer_kind::gone : answer_kind::replay;
  for (const auto& [name, kind] : kinds) {
    if (name == verdict) return kind;
  }
  return answer_kind::unavailable;
}

json members_of(const std::string& kind, std::uint64_t body) {
  auto out = json::object();
  if (kind == "complete") {
    out["answer"] = {{"status", 200}, {"body", std::to_string(body)}};
  }
  return out;
}

}  // namespace

struct application::process {
  process(world& around, machine& node, std::function<socket_host&()> address)
      : client(around, node, std::move(address)) {}
  service_client client;
  std::size_t open = 0;
};

application::application(world& around, machine& node, services& all, upstream& service,
                         const scene& played)
    : front_door(around, node), services_(all), upstream_(service), scene_(played) {}

application::~application() {
  if (process_) crash();
}

void application::begin() {
  process_ =
      std::make_unique<process>(around(), node(), [this]() -> socket_host& { return address(); });
}

void application::stop() { process_->client.close_idle(); }

void application::end() { process_.reset(); }

std::size_t application::unfinished() const { return process_ ? process_->open : 0; }

/// Its own service's, whose successor takes new connections while it drains, or by a balancer.
socket_host& application::address() {
  const auto count = services_.size();
  auto chosen = node().index % count;
  if (scene_.balanced) {
    chosen = static_cast<std::size_t>(
        around().random().between(0, static_cast<std::int64_t>(count) - 1));
  }
  if (scene_.hands_over && services_[chosen]->draining()) chosen = (chosen + 1) % count;
  return *services_[chosen];
}

void application::handle(const client_request& request) {
  ++process_->open;
  asio::co_spawn(*node().loop, exchange(request), [this](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
    --process_->open;
  });
}

awaitable<void> application::exchange(client_request request) {
  auto& client = process_->client;
  const auto& policy = request.key->policy;
  auto message = message_of(request);
  const auto wait = policy.on_busy == on_busy_rule::wait ? policy.wait : milliseconds(0);
  auto claimed = co_await client.claim(std::move(message), wait, request.left->get_token());
  if (!claimed.run) {
    co_return answer(request, kind_of(claimed.verdict, claimed.members),
                     number_in(claimed.members));
  }
  if (request.key->into_started) {
    const bool begun = co_await client.dispatch(claimed.run);
    if (!begun) co_return answer(request, answer_kind::unavailable, 0);
  }
  std::string kind;
  std::uint64_t body = 0;
  const auto ended = co_await work(request, *claimed.run, kind, body);
  auto members = members_of(kind, body);
  const auto settled = co_await client.settle(claimed.run, kind, std::move(members));
  conclude(request, ended, body, settled);
}

void application::conclude(const client_request& request, answer_kind ended, std::uint64_t body,
                           const settle_answer& settled) {
  if (settled.outcome == "settled") return answer(request, ended, body);
  if (settled.outcome == "away") return answer(request, answer_kind::unrecorded, 0);
  answer(request, kind_of(settled.outcome, settled.members), number_in(settled.members));
}

awaitable<answer_kind> application::work(const client_request& request, const service_run& run,
                                         std::string& kind, std::uint64_t& body) {
  const auto token = run.under.token;
  note(event_kind::sending, request, token);
  note(event_kind::dispatch, request, token);
  const work_request sent{request.key, request.print, run.under, around().now()};
  const auto got = co_await upstream_.call(node(), sent);
  const auto& policy = request.key->policy;
  const auto rule = got ? outcome_of(policy, got->status) : outcome_rule::unknown;
  switch (rule) {
    case outcome_rule::complete:
      note(event_kind::answered, request, token, 0, got->body);
      body = got->body;
      kind = "complete";
      co_return answer_kind::ran;
    case outcome_rule::fail:
      kind = "fail";
      co_return answer_kind::refused;
    case outcome_rule::release:
      kind = "release";
      co_return answer_kind::refused;
    case outcome_rule::unknown:
      break;
  }
  note(event_kind::in_doubt, request, token);
  kind = "exception";
  co_return answer_kind::unknown;
}

}  // namespace onceguard::sim
