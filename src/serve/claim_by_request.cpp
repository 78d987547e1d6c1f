#include "serve/claim_by_request.hpp"

#include "base/clock.hpp"
#include "base/for_ever.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

asio::awaitable<claim_reply> claim_by_request::run() {
  held_ = std::make_shared<held_operation>();
  held_->rules = owner_.rules();
  held_->service = call_.service;
  const auto& given = *call_.request;
  std::vector<field> fields;
  fields.reserve(given.headers.size());
  for (const auto& [name, value] : given.headers) fields.push_back({name, value});
  const http::request request{given.method,
                              given.target,
                              fields,
                              given.client_address,
                              given.body,
                              given.client_certificate,
                              given.credential_verified};
  const http::arrival_terms terms{held_->service, call_.claim, call_.wait, call_.into_started,
                                  given.body_omitted};
  http::arriving_request arrived(held_->rules->routes.state(), request, terms);
  arrived.go_on_until(http::step::claim);
  auto begun_with = arrived.known();
  byte_reservation room;  // as by parts
  if (!begun_with) {
    const auto id = arrived.run().id;
    if (!asker_.take_room(room, owner_.long_answers_.bytes_of(id))) {
      claim_reply out;
      out.message = no_room_for_answer(owner_.problem_base());
      co_return out;
    }
    begun_with.emplace(co_await arrived.begin(asker_.gone));
    const auto& stored = arrived.claimed().answer;
    if (stored) owner_.long_answers_.note(id, stored->body.size());
  }
  if (auto* const made = std::get_if<http::response>(&*begun_with)) {
    co_return answered(arrived, std::move(*made));
  }
  auto exchange = std::get<http::exchange>(std::move(*begun_with));
  co_return co_await begun(std::move(exchange));
}

claim_reply claim_by_request::answered(const http::arriving_request& arrived,
                                       http::response made) const {
  claim_reply out;
  auto& object = out.message.object;
  switch (arrived.at()) {
    case http::step::refuse:
      object["verdict"] = "refused";
      break;
    case http::step::settle:
      object["verdict"] = "overloaded";
      object["retry_after_ms"] = 1'000;
      break;
    default:
      object["verdict"] = verdict_of(arrived.claimed());
      put_retry(out.message, arrived.claimed());
      if (arrived.claimed().kind == outcome_kind::replay) {
        object["kept"] = kept_text(arrived.claimed().kept);
      }
  }
  put_answer(out.message, "reply", std::move(made));
  return out;
}

asio::awaitable<claim_reply> claim_by_request::begun(http::exchange exchange) {
  auto* const parts = exchange.parts();
  claim_reply out;
  if (parts == nullptr) {
    out.message.object["verdict"] = "pass";
    co_return out;
  }
  if (!parts->held && !parts->observed) {
    out.message.object["verdict"] = "unguarded";
    out.message.object["headers"] = headers_of(exchange.headers());
    co_return out;
  }
  held_->exchange.emplace(std::move(exchange));
  co_return co_await grant();
}

asio::awaitable<claim_reply> claim_by_request::grant() {
  const auto& rule = *held_->exchange->parts()->rule;
  if (const auto* lease = held_->handle()) {
    operation_id id;
    id.record = lease->id();
    id.held = lease->lease();
    id.mark = print_mark(lease->about().print);
    id.kind = rules_kind::route;
    id.rules = call_.request->method + ' ' + rule.name;
    held_->id = id.text();
  } else {
    held_->id = make_observed_id();
  }
  held_->renewed_until = base::boot_now() + base::bounded(rule.rule.policy.upstream_timeout);
  return take_in(owner_, held_, call_, asker_);
}

asio::awaitable<claim_reply> take_in(decisions& owner, operation_ptr held, const claim_call& call,
                                     const caller& asker) {
  held->connection = asker.connection;
  held->claim = call.claim;
  if (call.renewed_by_client) {
    if (auto* const lease = held->handle()) lease->stop_renewing();
    held->renewed_until = base::boot_clock::time_point::max();
  }
  claim_reply out;
  put_lease(out.message, *held);
  out.operation = held->id;
  if (owner.operations().put(held)) co_return out;
  // Its connection has ended, or there is no room. It has not begun.
  if (auto* const lease = held->handle()) {
    settle_terms terms;
    terms.kind = settle_kind::release;
    static_cast<void>(co_await lease->settle(std::move(terms)));
  }
  out.operation.clear();
  out.message =
      service_problem(owner.problem_base(), 503, "overloaded", "No capacity at the moment",
                      "Nothing is claimed.", milliseconds(1'000));
  co_return out;
}

}  // namespace onceguard::serve
