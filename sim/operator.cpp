#include "operator.hpp"

#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "store/resolve.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;

person::person(world& around, machine& node, store_host& records, upstream& service,
               const scene& played)
    : world_(around),
      node_(node),
      upstream_(service),
      scene_(played),
      records_(around, node, records) {
  world_.boot(node_);
}

person::~person() { world_.power_off(node_); }

void person::settle_unknown(bool hasty) { for_held_keys(&person::settle, hasty); }

void person::release_completed() { for_held_keys(&person::release, false); }

void person::for_held_keys(asio::awaitable<void> (person::*act)(const scene_key&, bool),
                           bool hasty) {
  world_.on(node_, [this, act, hasty] {
    for (const auto& key : scene_.keys) {
      if (key.rule != key_rule::hold) continue;
      asio::co_spawn(*node_.loop, (this->*act)(key, hasty), [](const std::exception_ptr& failure) {
        if (failure) std::rethrow_exception(failure);
      });
    }
  });
  world_.after_on(node_, 0, [] {});  // its loop runs
}

asio::awaitable<void> person::release(const scene_key& key, bool /*hasty*/) {
  const resolve_times times{milliseconds(300), milliseconds(1'500)};
  const auto found = co_await records_.find(key.id, times.timeout);
  if (!found || !*found || (*found)->state != observed_state::completed) co_return;
  auto request = resolution_of_seen(**found);
  const auto done = co_await resolve_surely(records_, *found, std::move(request), times);
  if (done && done->forgets_answer) co_await outlast_caches();
}

asio::awaitable<void> person::settle(const scene_key& key, bool hasty) {
  const resolve_times times{milliseconds(300), milliseconds(1'500)};
  const auto found = co_await records_.find(key.id, times.timeout);
  if (!found || !*found || (*found)->state != observed_state::unknown) co_return;
  auto request = resolution_of_seen(**found);
  request.keep_completed = true;
  request.retention = key.policy.retention;
  // Nobody may say that it did not happen while it still may: the store refuses that. So what the
  // upstream says is looked up after that time.
  const auto over_for = -(*found)->lease_left;
  if (!hasty && over_for <= key.policy.upstream_timeout) co_return;
  const auto known = upstream_.effect_of(key.number);
  request.completed = known && known->under > last_completed(key.number);
  if (request.completed) request.answer = make_answer(known->body);
  const auto done = co_await resolve_surely(records_, *found, std::move(request), times);
  if (done && done->forgets_answer) co_await outlast_caches();
}

token person::last_completed(std::uint16_t key) const {
  token out = 0;
  for (const auto& each : world_.events().all()) {
    const bool by_hand = each.kind == event_kind::resolve && each.value != 0;
    if ((each.kind == event_kind::complete || by_hand) && each.key == key)
      out = std::max(out, each.number);
  }
  return out;
}

}  // namespace onceguard::sim
