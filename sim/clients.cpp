#include "clients.hpp"

#include <utility>

namespace onceguard::sim {
namespace {

constexpr std::int64_t patience_ms = 2'500;

bool is_final(answer_kind kind) noexcept {
  return kind == answer_kind::own || kind == answer_kind::replay || kind == answer_kind::gone ||
         kind == answer_kind::mismatch;
}

}  // namespace

void clients::begin() {
  for (const auto& each : scene_.clients) {
    auto who = std::make_shared<caller>();
    who->key = &scene_.keys[each.key];
    who->print = each.print;
    who->tries = each.tries;
    who->asks_again = each.asks_again;
    world_.after(each.begin.count() * millisecond, [this, who] { send(who); });
  }
}

void clients::ask(const scene_key& key, std::uint32_t print, std::size_t gateway, int tries) {
  auto who = std::make_shared<caller>();
  who->key = &key;
  who->print = print;
  who->tries = tries;
  who->asked = true;
  who->next_gateway = gateway;
  send(who);
}

void clients::send(const caller_ptr& who) {
  if (who->tries-- <= 0) return;
  const auto count = static_cast<std::int64_t>(gateways_.size());
  const auto chosen = who->asked ? who->next_gateway
                                 : static_cast<std::size_t>(world_.random().between(0, count - 1));
  auto& to = *gateways_[chosen];
  client_request request;
  request.key = who->key;
  request.print = who->print;
  request.number = who->asked ? ++asked_ : ++sent_;
  request.left = std::make_shared<std::stop_source>();
  const auto number = request.number;
  who->waits_for = number;
  request.reply = [this, who, number, &to](answer_kind kind) {
    world_.send(to.place(), place_, message_kind::client_reply,
                [this, who, number, kind] { got(who, number, kind); });
  };
  world_.send(place_, to.place(), message_kind::client_request,
              [&to, request] { to.serve(request); });
  if (const auto* leaves = world_.next_of(disturbance_kind::leave)) {
    world_.after_on(to.place(), leaves->length.count() * millisecond,
                    [left = request.left] { left->request_stop(); });
  }
  // A connection that breaks is noticed; one that says nothing is waited for.
  world_.after(patience_ms * millisecond, [this, who, number] {
    if (who->waits_for == number) again(who, 1);
  });
}

void clients::got(const caller_ptr& who, std::uint64_t number, answer_kind kind) {
  if (who->waits_for != number) return;
  who->waits_for = 0;
  if (who->asked && kind == answer_kind::mismatch) {
    who->print = 1 - who->print;  // the key is the other request's
    return again(who, 20);
  }
  if (!is_final(kind)) return again(who, world_.random().between(20, 600));
  if (who->asks_again-- <= 0) return;
  who->tries = std::max(who->tries, 2);
  again(who, world_.random().between(5, 3'000));
}

void clients::again(const caller_ptr& who, std::int64_t pause_ms) {
  who->waits_for = 0;
  world_.after(pause_ms * millisecond, [this, who] { send(who); });
}

}  // namespace onceguard::sim
