// Notices that an operation comes again under another scope, where it runs again.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include <onceguard/engine.hpp>

namespace onceguard {

/// Thread-safe, without locks. Remembers the scopes of the last runs, so many and for so long as
/// the table below holds them; only runs of this process.
class scope_watch {
 public:
  explicit scope_watch(engine_counters& counters);

  /// An operation begins to run for the first time under its scope. Logs it if the same key and
  /// fingerprint ran on the same route under another scope before.
  void began(const operation& op);

 private:
  /// A digest's 12 hex digits, and a time of 16 bits. `check` is the operation's mark combined with
  /// `value`, so that a slot of which another thread has written one half fits no operation.
  struct slot {
    std::atomic<std::uint64_t> check{0};
    std::atomic<std::uint64_t> value{0};
  };

  engine_counters& counters_;
  std::vector<slot> slots_;
};

}  // namespace onceguard
