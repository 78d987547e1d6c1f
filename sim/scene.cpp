#include "scene.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/request.hpp"

namespace onceguard::sim {
namespace {

constexpr milliseconds upstream_timeout{1'500};

subject_ptr make_subject(const digest& scope, const scene_key& key, std::uint32_t print) {
  auto made = std::make_shared<subject>();
  made->scope = scope;
  made->scope_kind = "none";
  made->key = key.name();
  made->method = "POST";
  made->path = "/charges";
  made->route = "/charges";
  const auto body = scene_key::text_of(print);
  fingerprint_input input;
  input.method = made->method;
  input.path = made->path;
  input.body = body;
  made->print = make_fingerprint(fingerprint_rule{}, input);
  made->run_timeout = key.policy.upstream_timeout;
  return made;
}

/// As the decision service makes it of a claim by its parts.
void name_by_parts(scene_key& key) {
  for (std::uint32_t print = 0; print < scene_key::prints; ++print) {
    const request parts(std::string(scene_key::scope), key.name(), scene_key::text_of(print));
    const auto digests = digests_of(parts);
    key.id = digests.id;
    key.about[print] = subject_of(parts, digests);
  }
}

scene_key make_key(std::uint16_t number, number_stream& numbers, world_kind kind) {
  scene_key key;
  key.number = number;
  key.rule = static_cast<key_rule>(numbers.between(0, key_rules - 1));
  if (numbers.chance(35)) key.rule = key_rule::hold;
  // Nobody asks an application for the decision service.
  if (kind == world_kind::serve && key.rule == key_rule::probe) key.rule = key_rule::hold;
  // A journal is in no application's transaction.
  if (kind == world_kind::journal && key.rule == key_rule::transactional) key.rule = key_rule::hold;
  auto& policy = key.policy;
  policy.lease = milliseconds(numbers.between(1'000, 1'800));
  policy.upstream_timeout = upstream_timeout;
  policy.backoff = milliseconds(100);
  policy.backoff_max = milliseconds(400);
  policy.retention = milliseconds(600'000);
  // Where an application keeps a list of effects by the key, it must not outlive the key.
  const bool may_expire = key.rule == key_rule::hold || key.rule == key_rule::transactional;
  if (may_expire && numbers.chance(20))
    policy.retention = milliseconds(numbers.between(900, 3'000));
  if (numbers.chance(50)) policy.on_busy = on_busy_rule::wait;
  policy.wait = milliseconds(numbers.between(300, 3'000));
  if (numbers.chance(20)) policy.outcome_status[503] = outcome_rule::fail;
  switch (key.rule) {
    case key_rule::probe:
      policy.unknown = unknown_policy::probe;
      break;
    case key_rule::rerun:
      policy.unknown = unknown_policy::rerun;
      break;
    case key_rule::transactional:
      policy.effect = effect_rule::transactional;
      break;
    case key_rule::hold:
      break;
  }
  key.into_started = key.rule != key_rule::transactional && numbers.chance(30);
  const digest scope{};
  for (std::uint32_t print = 0; print < scene_key::prints; ++print) {
    key.about[print] = make_subject(scope, key, print);
  }
  key.id = make_record_id(scope, key.about[0]->key);
  if (kind == world_kind::serve) name_by_parts(key);
  return key;
}

client_plan make_client(std::uint16_t key, number_stream& numbers) {
  client_plan out;
  out.key = key;
  out.print = numbers.chance(18) ? 1 : 0;
  out.begin = milliseconds(numbers.chance(60) ? numbers.between(5, 60) : numbers.between(5, 6'000));
  out.tries = static_cast<int>(numbers.between(1, 6));
  out.asks_again = static_cast<int>(numbers.between(0, 2));
  return out;
}

}  // namespace

std::string_view name_of(world_kind kind) noexcept {
  constexpr std::array<std::string_view, world_kinds> names{"engine", "tiered", "serve", "journal"};
  return names[static_cast<std::size_t>(kind)];
}

scene::scene(std::uint64_t number, world_kind played) : seed(number), kind(played) {
  number_stream numbers(seed ^ 0x7363'656e'65);
  gateways = static_cast<std::size_t>(numbers.between(1, 3));
  engine.store_timeout = milliseconds(300);
  engine.settle_wait = milliseconds(800);
  engine.sweep_interval = milliseconds(1'000);
  engine.loss_quiet = milliseconds(3'500);
  engine.longest_retention = milliseconds(600'000);
  engine.replay_cache = numbers.chance(70) ? std::size_t{1} << 16 : 0;
  if (numbers.chance(30)) slow_work = milliseconds(numbers.between(300, 1'400));
  if (numbers.chance(30)) slow_upload = milliseconds(numbers.between(100, 1'500));
  refuses = numbers.chance(15);
  hints = numbers.chance(60);
  impatient = numbers.chance(20);
  hasty_operator = numbers.chance(12);
  const auto count = numbers.between(1, 3);
  for (std::uint16_t which = 0; which < count; ++which) {
    keys.push_back(make_key(which, numbers, kind));
    const auto callers = numbers.between(1, 4);
    for (std::int64_t i = 0; i < callers; ++i) clients.push_back(make_client(which, numbers));
  }
  replays_without_truth = kind == world_kind::tiered && numbers.chance(30);
  if (kind == world_kind::serve) {
    applications = std::min<std::size_t>(gateways, 2);
    gateways = applications + static_cast<std::size_t>(numbers.between(1, 2));
    balanced = numbers.chance(30);
    hands_over = numbers.chance(50);
  }
  disturbance_limits limits;
  limits.applications = applications;
  limits.gateways = gateways;
  limits.machines = gateways + 3;
  if (kind == world_kind::tiered) limits.front = limits.machines++;
  limits.time = calm_at;
  limits.forgets = numbers.chance(30) && kind != world_kind::journal;
  limits.disk = kind == world_kind::journal;
  limits.upstream_timeout = upstream_timeout;
  number_stream wrong(seed ^ 0x7772'6f6e'67);
  disturbances = make_plan(wrong, limits);
}

milliseconds scene::settled_after() const {
  milliseconds lease{0};
  for (const auto& key : keys) lease = std::max(lease, lease_length(key.policy));
  // The lease of who is gone, the work that is under way, and a settle that is repeated.
  const milliseconds repeats(applications == 0 ? 0 : 2'500);
  // A machine that is down when nothing goes wrong any more.
  const milliseconds away(kind == world_kind::journal ? 4'000 : 0);
  return lease + slow_upload + upstream_timeout + engine.settle_wait + repeats + away +
         milliseconds(2'500);
}

}  // namespace onceguard::sim
