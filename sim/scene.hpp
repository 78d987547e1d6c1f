// What the seed decides before the world begins: the keys and their rules, the machines, the
// clients and their requests.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>

#include "disturbance.hpp"
#include "store_host.hpp"
#include "virtual_kernel.hpp"

namespace onceguard::sim {

/// What a key's route promises.
enum class key_rule : std::uint8_t { hold, probe, rerun, transactional };
inline constexpr std::size_t key_rules = 4;

/// A key, and the requests that come with it: they differ in their prints.
struct scene_key {
  static constexpr std::size_t prints = 2;
  static constexpr std::string_view scope = "shop";  ///< as the decision service gets it
  [[nodiscard]] std::string name() const { return "key-" + std::to_string(number); }
  /// What its requests ask for.
  [[nodiscard]] static std::string text_of(std::uint32_t print) {
    return "amount=" + std::to_string(print);
  }

  std::uint16_t number = 0;
  key_rule rule = key_rule::hold;
  bool into_started = false;
  route_policy policy;
  record_id id{};
  std::array<subject_ptr, prints> about;  ///< by print
};

struct client_plan {
  std::uint16_t key = 0;
  std::uint32_t print = 0;
  milliseconds begin{0};
  int tries = 4;
  int asks_again = 0;  ///< after its success, to see whether the answer stays
};

/// What is between the engine and the records, or before the engine.
enum class world_kind : std::uint8_t {
  engine,   ///< one store
  tiered,   ///< the tiered store, over the store and an accelerator
  serve,    ///< one store, and applications before it that ask decision services
  journal,  ///< one store, which is a journal on a disk
};
inline constexpr std::size_t world_kinds = 4;
[[nodiscard]] std::string_view name_of(world_kind kind) noexcept;

struct scene {
  explicit scene(std::uint64_t seed, world_kind kind = world_kind::engine);

  std::uint64_t seed;
  world_kind kind;
  bool replays_without_truth = false;  ///< tiered
  std::size_t gateways = 2;
  // serve: of these, the first ones are applications, and the others decision services.
  std::size_t applications = 0;
  bool balanced = false;    ///< a new connection goes to any of the services
  bool hands_over = false;  ///< while a service drains, to the next one
  engine_params engine;
  std::vector<scene_key> keys;
  std::vector<client_plan> clients;
  milliseconds slow_work{0};    ///< some work takes as long as this
  milliseconds slow_upload{0};  ///< some requests take up to that to leave
  bool refuses = false;         ///< the upstream often has no time
  bool impatient = false;       ///< many clients leave early
  bool hasty_operator = false;  ///< somebody looks on all the time, and settles at once
  bool hints = true;            ///< the store announces what was settled
  plan disturbances;

  /// Until then something may go wrong.
  static constexpr milliseconds calm_at{9'000};
  /// How long it may take until nothing is stuck any more.
  [[nodiscard]] milliseconds settled_after() const;
};

}  // namespace onceguard::sim
