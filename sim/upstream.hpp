// The service behind the gateways: it keeps a list of its effects, answers late, wrongly or not
// at all, and, where it is asked for that, refuses earlier tokens.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "scene.hpp"
#include "world.hpp"

namespace onceguard::sim {

struct work_request {
  const scene_key* key = nullptr;
  std::uint32_t print = 0;
  lease under;
  std::int64_t sent_at = 0;
};

struct work_reply {
  std::uint16_t status = 0;
  std::uint64_t body = 0;  ///< 200: the number of the answer
};

class upstream {
 public:
  upstream(world& around, machine& node, store_host& records, const scene& played)
      : world_(around), node_(node), store_(records), scene_(played) {}

  [[nodiscard]] machine& node() noexcept { return node_; }
  /// Sends a request from another machine; none: no answer came in time.
  boost::asio::awaitable<std::optional<work_reply>> call(machine& caller, work_request request);
  /// Whether the key took effect; earlier tokens are refused from now on.
  [[nodiscard]] effect_report probe(const scene_key& key, token fence);
  struct known_effect {
    std::uint64_t body = 0;
    std::uint32_t print = 0;
    token under = 0;
  };
  /// The last effect of a key, for a person who looks; none: there is none.
  [[nodiscard]] std::optional<known_effect> effect_of(std::uint16_t key) const;

 private:
  /// A request has arrived; `reply` is called here, if ever.
  void receive(const work_request& request, std::function<void(work_reply)> reply);
  void act(const work_request& request, const disturbance* wrong,
           std::function<void(work_reply)> reply);
  void act_in_transaction(const work_request& request, std::function<void(work_reply)> reply);
  void take_effect(const work_request& request, std::uint64_t body);

  world& world_;
  machine& node_;
  store_host& store_;
  const scene& scene_;
  std::map<std::uint16_t, known_effect> effects_;
  std::map<std::uint16_t, token> fences_;
  std::uint64_t answers_ = 0;
};

}  // namespace onceguard::sim
