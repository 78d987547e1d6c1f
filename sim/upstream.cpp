#include "upstream.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "mailbox.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;

namespace {

bool answers_nothing(const disturbance* wrong) noexcept {
  return wrong != nullptr &&
         (wrong->kind == disturbance_kind::no_answer || wrong->kind == disturbance_kind::no_effect);
}

bool has_effect(const disturbance* wrong) noexcept {
  return wrong == nullptr || wrong->kind == disturbance_kind::late_answer ||
         wrong->kind == disturbance_kind::no_answer || wrong->kind == disturbance_kind::error_after;
}

}  // namespace

asio::awaitable<std::optional<work_reply>> upstream::call(machine& caller, work_request request) {
  const auto executor = co_await asio::this_coro::executor;
  const auto box = std::make_shared<mailbox<work_reply>>(executor);
  const std::weak_ptr<mailbox<work_reply>> receiver = box;
  auto arrive = [this, &caller, receiver, request] {
    receive(request, [this, &caller, receiver](work_reply reply) {
      world_.send(node_, caller, message_kind::work_reply,
                  [receiver, reply] { mailbox<work_reply>::put(receiver, reply); });
    });
  };
  world_.send(caller, node_, message_kind::work_request, std::move(arrive));
  co_await box->wait(request.key->policy.upstream_timeout);
  co_return box->content;
}

void upstream::receive(const work_request& request, std::function<void(work_reply)> reply) {
  auto& numbers = world_.random();
  const auto* wrong = world_.next_of(disturbance_kind::late_answer);
  auto takes = numbers.between(1, 25);
  if (scene_.slow_work.count() != 0 && numbers.chance(60)) takes = scene_.slow_work.count();
  if (wrong != nullptr && wrong->kind == disturbance_kind::late_answer) {
    // Nothing takes effect later than the work may take by the gateway's settings.
    const auto most = request.key->policy.upstream_timeout.count() * 9 / 10;
    takes = std::min(wrong->length.count(), numbers.chance(50) ? most : wrong->length.count());
  }
  const auto most = request.key->policy.upstream_timeout.count() * 9 / 10;
  // Whoever sent it has gone by then.
  const auto left = most - (world_.now() - request.sent_at) / millisecond;
  if (left < 0) return;
  const auto effect_at = std::min({takes * numbers.between(10, 95) / 100, most, left});
  if (wrong == nullptr && scene_.refuses && !world_.calm() && numbers.chance(25)) {
    return world_.after_on(node_, effect_at * millisecond, [reply] { reply({503, 0}); });
  }
  if (answers_nothing(wrong)) reply = [](work_reply) {};
  auto late = [this, takes, effect_at, reply = std::move(reply)](work_reply made) {
    world_.after_on(node_, (takes - effect_at) * millisecond, [reply, made] { reply(made); });
  };
  world_.after_on(node_, effect_at * millisecond,
                  [this, request, wrong, late] { act(request, wrong, late); });
}

void upstream::act(const work_request& request, const disturbance* wrong,
                   std::function<void(work_reply)> reply) {
  if (wrong != nullptr && wrong->kind == disturbance_kind::refuse_work) return reply({503, 0});
  if (!has_effect(wrong)) return reply({500, 0});
  if (wrong != nullptr && wrong->kind == disturbance_kind::error_after) {
    reply = [reply](work_reply) { reply({500, 0}); };
  }
  if (request.key->rule == key_rule::transactional) {
    return act_in_transaction(request, std::move(reply));
  }
  const auto fence = fences_.find(request.key->number);
  if (fence != fences_.end() && request.under.token < fence->second) return reply({409, 0});
  const auto body = ++answers_;
  take_effect(request, body);
  reply({200, body});
}

/// The effect and the completed record are one transaction in the store.
void upstream::act_in_transaction(const work_request& request,
                                  std::function<void(work_reply)> reply) {
  const auto body = ++answers_;
  settle_terms terms;
  terms.answer = make_answer(body);
  terms.retention = request.key->policy.retention;
  terms.by_application = true;
  auto settle = settle_lease(request.key->id, request.under, request.key->about[request.print],
                             std::move(terms));
  auto commit = [this, request, body, reply = std::move(reply),
                 settle = std::move(settle)]() mutable {
    auto committed = [this, request, body, reply](bool done) {
      if (done) take_effect(request, body);
      world_.send(store_.node(), node_, message_kind::store_reply, [reply, done, body] {
        reply(done ? work_reply{200, body} : work_reply{500, 0});
      });
    };
    store_.settle_in_transaction(settle, std::move(committed));
  };
  world_.send(node_, store_.node(), message_kind::store_request, std::move(commit));
}

void upstream::take_effect(const work_request& request, std::uint64_t body) {
  effects_[request.key->number] = {body, request.print, request.under.token};
  world_.events().add({.time = world_.now(),
                       .kind = event_kind::effect,
                       .machine = static_cast<std::uint8_t>(node_.index),
                       .key = request.key->number,
                       .print = request.print,
                       .number = request.under.token,
                       .body = body});
}

effect_report upstream::probe(const scene_key& key, token fence) {
  auto& highest = fences_[key.number];
  highest = std::max(highest, fence);
  effect_report out;
  const auto found = effect_of(key.number);
  out.status = found ? effect_status::done : effect_status::not_done;
  if (found) out.answer = make_answer(found->body);
  return out;
}

std::optional<upstream::known_effect> upstream::effect_of(std::uint16_t key) const {
  const auto found = effects_.find(key);
  if (found == effects_.end()) return std::nullopt;
  return found->second;
}

}  // namespace onceguard::sim
