// The service behind the gateways: it keeps a ledger of its effects, answers late, wrongly or not
// at all, and, where it is asked for that, refuses earlier tokens.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include <onceguard/engine.hpp>

#include "scene.hpp"
#include "world.hpp"

namespace onceguard::sim {

struct work_request {
  const scene_key* key = nullptr;
  std::uint32_t print = 0;
  lease under;
};

struct work_reply {
  std::uint16_t status = 0;
  std::uint64_t body = 0;  ///< 200: the number of the answer
};

class upstream {
 public:
  upstream(world& around, machine& place, store_host& records, const scene& played)
      : world_(around), place_(place), store_(records), scene_(played) {}

  [[nodiscard]] machine& place() noexcept { return place_; }
  /// A request has arrived; `reply` is called here, if ever.
  void receive(const work_request& request, std::function<void(work_reply)> reply);
  /// Whether the key took effect; earlier tokens are refused from now on.
  [[nodiscard]] effect_report probe(const scene_key& key, token fence);
  struct ledger_entry {
    std::uint64_t body = 0;
    std::uint32_t print = 0;
    token under = 0;
  };
  /// The last effect of a key, for a person who looks; none: there is none.
  [[nodiscard]] std::optional<ledger_entry> effect_of(std::uint16_t key) const;

 private:
  void act(const work_request& request, const disturbance* wrong,
           std::function<void(work_reply)> reply);
  void act_in_transaction(const work_request& request, std::function<void(work_reply)> reply);
  void take_effect(const work_request& request, std::uint64_t body);

  world& world_;
  machine& place_;
  store_host& store_;
  const scene& scene_;
  std::map<std::uint16_t, ledger_entry> ledger_;
  std::map<std::uint16_t, token> fences_;
  std::uint64_t answers_ = 0;
};

}  // namespace onceguard::sim
