// Notices that an operation comes again under another scope, where it runs again.
#pragma once
#include <onceguard/engine.hpp>

#include "base/recent_marks.hpp"

namespace onceguard {

/// Thread-safe, without locks. Remembers the scopes of the last runs, so many and for so long as
/// its table holds them; only runs of this process.
class scope_watch {
 public:
  explicit scope_watch(engine_counters& counters);

  /// An operation begins to run for the first time under its scope. Logs it if the same key and
  /// fingerprint ran on the same route under another scope before.
  void began(const operation& op);

 private:
  engine_counters& counters_;
  base::recent_marks scopes_;  // a word: a digest's 12 hex digits, and a time of 16 bits
};

}  // namespace onceguard
