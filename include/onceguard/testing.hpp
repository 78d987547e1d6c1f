// For the unit tests of services that use onceguard/guard.hpp: a store in memory with a clock that
// the test moves, and with the situations that a real store gets into seldom.
//
//   onceguard::testing::store_in_hand records;
//   auto guard = onceguard::guard::open(records.open()).value();
//   records.make_unknown({"tenant", "key-1"});
//   EXPECT_EQ(service.charge("key-1").status, 409);
#pragma once
#include <cstddef>
#include <memory>

#include <onceguard/record.hpp>
#include <onceguard/request.hpp>
#include <onceguard/store.hpp>

// Without a version of the ABI: it is for programs that are never installed.
namespace onceguard::testing {

/// Thread-safe. The stores that it opens share its records, and may outlive it.
class store_in_hand {
 public:
  store_in_hand();
  ~store_in_hand();
  store_in_hand(const store_in_hand&) = delete;
  store_in_hand& operator=(const store_in_hand&) = delete;

  /// A store for guard::open. Another one shows the same records, like another process.
  [[nodiscard]] std::unique_ptr<store> open();

  /// Moves the store's clock forward: leases run out, back-offs and retentions end.
  void advance(milliseconds time);
  /// False: every call fails with errc::store_unreachable, and nothing is carried out.
  void set_reachable(bool reachable);
  /// As if another process ran the operation now: a claim gets `busy` until the lease is over.
  /// The operation must be new.
  void make_busy(const request& request, milliseconds lease = milliseconds(30'000));
  /// As if a process had ended amid the operation: it is unknown whether it took effect.
  void make_unknown(const request& request);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace onceguard::testing
