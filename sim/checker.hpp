// Says what is wrong in a history: of a simulation, or recorded from a real store.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "history.hpp"
#include "scene.hpp"

namespace onceguard::sim {

/// What is promised of a key.
struct key_promise {
  key_rule rule = key_rule::hold;
  bool waits = false;         ///< its callers wait for a running twin
  bool into_started = false;  ///< its leases begin before the work may begin
  milliseconds wait{0};
  milliseconds run{0};  ///< how long the work may take
};

struct check_terms {
  std::vector<key_promise> keys;  ///< by number
  /// Nothing went wrong but with the upstream and the clients: then no outcome is unknown without
  /// a cause, and nobody waits in vain.
  bool calm = false;
  /// Then a waiter hears of its twin's end within this.
  milliseconds prompt{400};
  bool mild = false;                  ///< one call of the store failed, at most
  bool crashed = false;               ///< a gateway lost its memory
  bool copies_without_truth = false;  ///< an accelerator answers for a truth that is away
  bool stepped = false;  ///< the store's wall clock stepped: nothing expires until it is confirmed
  /// Requests with such numbers were sent when nothing went wrong any more.
  std::uint64_t first_of_asked = UINT64_MAX;
};

struct violation {
  std::size_t event = 0;  ///< where in the history; its size: at the end
  std::string fault;
};

/// The first violation of each key, in their order.
[[nodiscard]] std::vector<violation> check(const history& events, const check_terms& terms);

}  // namespace onceguard::sim
