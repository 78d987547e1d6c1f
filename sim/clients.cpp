#include "clients.hpp"

#include <utility>

namespace onceguard::sim {
namespace {

constexpr std::int64_t patience_ms = 2'500;

bool is_final(answer_kind kind) noexcept {
  return kind == answer_kind::ran || kind == answer_kind::replay || kind == answer_kind::gone ||
         kind == answer_kind::mismatch;
}

}  // namespace

void clients::begin() {
  for (const auto& each : scene_.clients) {
    auto sender = std::make_shared<caller>();
    sender->key = &scene_.keys[each.key];
    sender->print = each.print;
    sender->tries = each.tries;
    sender->asks_again = each.asks_again;
    world_.after(each.begin.count() * millisecond, [this, sender] { send(sender); });
  }
}

void clients::ask(const scene_key& key, std::uint32_t print, std::size_t door, int tries) {
  auto sender = std::make_shared<caller>();
  sender->key = &key;
  sender->print = print;
  sender->tries = tries;
  sender->is_probe = true;
  sender->next_door = door;
  send(sender);
}

void clients::send(const caller_ptr& sender) {
  if (sender->tries-- <= 0) return;
  const auto count = static_cast<std::int64_t>(doors_.size());
  const auto chosen = sender->is_probe
                          ? sender->next_door
                          : static_cast<std::size_t>(world_.random().between(0, count - 1));
  auto& target = *doors_[chosen];
  client_request request;
  request.key = sender->key;
  request.print = sender->print;
  request.number = sender->is_probe ? ++probes_ : ++sent_;
  request.left = std::make_shared<std::stop_source>();
  const auto number = request.number;
  sender->waits_for = number;
  request.reply = [this, sender, number, &target](answer_kind kind) {
    world_.send(target.node(), node_, message_kind::client_reply,
                [this, sender, number, kind] { got(sender, number, kind); });
  };
  world_.send(node_, target.node(), message_kind::client_request,
              [&target, request] { target.serve(request); });
  if (const auto* leaves = world_.next_of(disturbance_kind::leave)) {
    world_.after_on(target.node(), leaves->length.count() * millisecond,
                    [left = request.left] { left->request_stop(); });
  }
  if (scene_.impatient && !world_.calm() && world_.random().chance(30)) {
    world_.after_on(target.node(), world_.random().between(20, 800) * millisecond,
                    [left = request.left] { left->request_stop(); });
  }
  // A connection that breaks is noticed; one that says nothing is waited for.
  world_.after(patience_ms * millisecond, [this, sender, number] {
    if (sender->waits_for == number) again(sender, 1);
  });
}

void clients::got(const caller_ptr& sender, std::uint64_t number, answer_kind kind) {
  if (sender->waits_for != number) return;
  sender->waits_for = 0;
  if (sender->is_probe && kind == answer_kind::mismatch) {
    sender->print = 1 - sender->print;  // the key is the other request's
    return again(sender, 20);
  }
  if (!is_final(kind)) return again(sender, world_.random().between(20, 600));
  if (sender->asks_again-- <= 0) return;
  sender->tries = std::max(sender->tries, 2);
  again(sender, world_.random().between(5, 3'000));
}

void clients::again(const caller_ptr& sender, std::int64_t pause_ms) {
  sender->waits_for = 0;
  world_.after(pause_ms * millisecond, [this, sender] { send(sender); });
}

}  // namespace onceguard::sim
