// The callers: they send a request until they know its outcome, and some ask again after that.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "front_door.hpp"

namespace onceguard::sim {

class clients {
 public:
  clients(world& around, machine& node, std::vector<std::unique_ptr<front_door>>& doors,
          const scene& played)
      : world_(around), node_(node), doors_(doors), scene_(played) {}

  /// All that the scene has.
  void begin();
  /// A request of somebody new, of whom the checker expects that it ends well. Its number.
  void ask(const scene_key& key, std::uint32_t print, std::size_t door, int tries);
  /// Requests of ask() have numbers from here on.
  static constexpr std::uint64_t first_of_asked = 1'000'000;

 private:
  struct caller {
    const scene_key* key = nullptr;
    std::uint32_t print = 0;
    int tries = 0;
    int asks_again = 0;
    bool is_probe = false;  ///< of ask()
    std::size_t next_door = 0;
    std::uint64_t waits_for = 0;  ///< the number of its request; 0: for none
  };
  using caller_ptr = std::shared_ptr<caller>;

  void send(const caller_ptr& sender);
  void got(const caller_ptr& sender, std::uint64_t number, answer_kind kind);
  void again(const caller_ptr& sender, std::int64_t pause_ms);

  world& world_;
  machine& node_;
  std::vector<std::unique_ptr<front_door>>& doors_;
  const scene& scene_;
  std::uint64_t sent_ = 0;
  std::uint64_t probes_ = first_of_asked;
};

}  // namespace onceguard::sim
