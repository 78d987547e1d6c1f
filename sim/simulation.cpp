#include "simulation.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "application.hpp"
#include "clients.hpp"
#include "gateway.hpp"
#include "operator.hpp"

namespace onceguard::sim {
namespace {

/// Whatever happens to an accelerator, the truth decides.
bool is_of_front(const disturbance& each) noexcept {
  return each.kind >= disturbance_kind::front_loses && each.kind <= disturbance_kind::front_clock;
}

/// What disturbs only the upstream or the clients.
bool is_outside(const disturbance& each) noexcept {
  return (each.kind >= disturbance_kind::late_answer && each.kind <= disturbance_kind::leave) ||
         each.kind == disturbance_kind::wall_step || is_of_front(each) ||
         (each.kind >= disturbance_kind::lose && each.kind <= disturbance_kind::delay &&
          (each.where == static_cast<std::size_t>(message_kind::client_request) ||
           each.where == static_cast<std::size_t>(message_kind::client_reply)));
}

/// One call of a store that fails: whoever is at work does not notice.
bool is_one_call(const disturbance& each) noexcept {
  const bool message = each.kind == disturbance_kind::lose &&
                       each.where <= static_cast<std::size_t>(message_kind::store_reply);
  return message || (each.kind >= disturbance_kind::refuse_call &&
                     each.kind <= disturbance_kind::fail_unknown);
}

check_terms terms_of(const scene& played, const plan& disturbances) {
  check_terms out;
  for (const auto& key : played.keys) {
    const bool waits = key.policy.on_busy == on_busy_rule::wait;
    out.keys.push_back(
        {key.rule, waits, key.into_started, key.policy.wait, key.policy.upstream_timeout});
  }
  out.calm = std::ranges::all_of(disturbances, is_outside);
  out.mild = std::ranges::all_of(
                 disturbances,
                 [](const disturbance& each) { return is_outside(each) || is_one_call(each); }) &&
             std::ranges::count_if(disturbances, is_one_call) <= 1;
  out.crashed = std::ranges::any_of(disturbances, [](const disturbance& each) {
    return each.kind == disturbance_kind::crash || each.kind == disturbance_kind::shutdown;
  });
  // Whose connection ends, or whose service is away, can't say what it knows.
  if (played.kind == world_kind::serve) out.crashed = !out.mild;
  out.stepped = std::ranges::any_of(disturbances, [&played](const disturbance& each) {
    return each.kind == disturbance_kind::wall_step && each.where == played.gateways;
  });
  out.first_of_asked = clients::first_of_asked;
  // Of what an application completes itself, the accelerator's marker says busy for a second.
  if (played.kind == world_kind::tiered) out.prompt += milliseconds(1'000);
  out.copies_without_truth = played.replays_without_truth;
  return out;
}

/// The world of a scene.
class stage {
 public:
  stage(const scene& played, const plan& disturbances, history& events)
      : scene_(played), world_(played.seed, disturbances, events) {
    for (std::size_t i = 0; i < played.gateways; ++i) {
      world_.add("gateway " + std::to_string(i));
    }
    auto& store_node = world_.add("store");
    auto& upstream_node = world_.add("upstream");
    auto& clients_node = world_.add("clients");
    auto* const front_node =
        played.kind == world_kind::tiered ? &world_.add("accelerator") : nullptr;
    for (const auto& key : played.keys) names_.add(key.id, key.number);
    const auto level =
        played.kind == world_kind::journal ? store_level::journal : store_level::truth;
    store_ = std::make_unique<store_host>(world_, store_node, names_, played.hints, level);
    if (front_node != nullptr) {
      front_ = std::make_unique<store_host>(world_, *front_node, names_, false, store_level::front);
    }
    upstream_ = std::make_unique<upstream>(world_, upstream_node, *store_, played);
    for (std::size_t i = 0; i < played.gateways; ++i) {
      add_process(world_.machine_at(i), played);
    }
    clients_ = std::make_unique<clients>(world_, clients_node, doors_, played);
    operator_ = std::make_unique<person>(world_, clients_node, *store_, *upstream_, played);
    world_.on_disturbance = [this](const disturbance& each) { disturb(each); };
  }

  ~stage() {
    operator_.reset();
    doors_.clear();
    services_.clear();
  }

  std::uint64_t run() {
    for (auto* const each : processes_) each->start();
    clients_->begin();
    if (scene_.hasty_operator) settle_hastily();
    auto time = in(scene::calm_at);
    world_.run_until(time);
    world_.calm_down();
    time += in(scene_.settled_after());
    world_.run_until(time);
    // Who is asked now answers at once, or says that a person has to act.
    operator_->settle_unknown();
    time += in(milliseconds(2'500));
    world_.run_until(time);
    for (const auto& key : scene_.keys) ask_everywhere(key);
    time += in(milliseconds(6'000));
    world_.run_until(time);
    return world_.handlers();
  }

  [[nodiscard]] std::size_t unfinished() const {
    std::size_t out = 0;
    for (const auto* const each : processes_) out += each->unfinished();
    return out;
  }

 private:
  void add_process(machine& node, const scene& played) {
    if (node.index < played.applications) {
      doors_.push_back(std::make_unique<application>(world_, node, services_, *upstream_, played));
    } else if (played.kind == world_kind::serve) {
      const store_machines stores{store_.get(), nullptr, nullptr, false};
      services_.push_back(std::make_unique<decision_service>(world_, node, stores, played));
      return processes_.push_back(services_.back().get());
    } else {
      store_machines stores{store_.get(), front_.get(), nullptr};
      if (front_) stores.monitor = &world_.add_thread(node);
      doors_.push_back(std::make_unique<gateway>(world_, node, stores, *upstream_, played));
    }
    processes_.push_back(doors_.back().get());
  }

  static nanoseconds in(milliseconds time) { return time.count() * millisecond; }

  void settle_hastily() {
    if (world_.calm()) return;
    operator_->settle_unknown(true);
    world_.after(in(milliseconds(250)), [this] { settle_hastily(); });
  }

  /// At each gateway in turn: what one has in memory must be what the other finds in the store.
  void ask_everywhere(const scene_key& key) {
    const auto print = print_that_ran(key);
    for (std::size_t i = 0; i < doors_.size(); ++i) {
      world_.after(static_cast<nanoseconds>(i) * 300 * millisecond,
                   [this, &key, print, i] { clients_->ask(key, print, i, 4); });
    }
  }

  /// Of the request that took effect, or may have.
  [[nodiscard]] std::uint32_t print_that_ran(const scene_key& key) {
    if (const auto known = upstream_->effect_of(key.number)) return known->print;
    std::uint32_t out = 0;
    for (const auto& each : world_.events().all()) {
      if (each.kind == event_kind::dispatch && each.key == key.number) out = each.print;
    }
    return out;
  }

  void disturb(const disturbance& each) {
    switch (each.kind) {
      case disturbance_kind::crash:
      case disturbance_kind::shutdown: {
        auto& its = *processes_[each.where];
        if (!its.up()) return;
        if (each.kind == disturbance_kind::crash) return crash(its, each.length);
        its.shut_down();
        const auto incarnation = its.node().incarnation;
        world_.after(400 * millisecond, [this, &its, incarnation, length = each.length] {
          if (its.up() && its.node().incarnation == incarnation) crash(its, length);
        });
        return;
      }
      case disturbance_kind::forget:
        return store_->forget(milliseconds(1'000));
      case disturbance_kind::store_crash:
        return store_->crash(each);
      case disturbance_kind::front_loses:
        return front_->forget(scene::calm_at * 2);
      case disturbance_kind::front_returns:
        return front_->forget(each.length, each.other == 1);
      case disturbance_kind::release:
        return operator_->release_completed();
      case disturbance_kind::operate:
        return operator_->settle_unknown(each.where == 1);
      default:
        return;
    }
  }

  void crash(machine_process& its, milliseconds length) {
    its.crash();
    world_.after(in(length), [&its] { its.start(); });
  }

  const scene& scene_;
  world world_;
  key_names names_;
  std::unique_ptr<store_host> store_;
  std::unique_ptr<store_host> front_;  // null: there is no accelerator
  std::unique_ptr<upstream> upstream_;
  std::vector<std::unique_ptr<decision_service>> services_;
  std::vector<std::unique_ptr<front_door>> doors_;
  std::vector<machine_process*> processes_;  // by the numbers of their machines
  std::unique_ptr<clients> clients_;
  std::unique_ptr<person> operator_;
};

}  // namespace

simulated play(const scene& played, const plan& disturbances) {
  simulated out;
  std::size_t unfinished = 0;
  {
    stage set(played, disturbances, out.events);
    out.handlers = set.run();
    unfinished = set.unfinished();
  }
  out.violations = check(out.events, terms_of(played, disturbances));
  if (unfinished != 0) {
    out.violations.push_back({out.events.all().size(), "a gateway still has something to do"});
  }
  return out;
}

plan shrink(const scene& played) {
  auto kept = played.disturbances;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t i = kept.size(); i-- > 0;) {
      auto fewer = kept;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (play(played, fewer).violations.empty()) continue;
      kept = std::move(fewer);
      smaller = true;
    }
  }
  return kept;
}

}  // namespace onceguard::sim
