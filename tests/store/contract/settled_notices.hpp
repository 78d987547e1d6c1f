// Collects the settles that a store announces to its listener, and lets a test wait for an
// announcement.
#pragma once
#include <algorithm>
#include <mutex>
#include <poll.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

inline std::uint64_t prefix_of(const record_id& id) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < 8; ++i) out = out << 8 | id[i];
  return out;
}

/// The settles announced so far. The listener is called on the store's own thread.
class settled_notices {
 public:
  settled_listener listener() {
    return [this](const std::vector<std::uint64_t>& settled) {
      const std::lock_guard lock(mutex_);
      all_.insert(all_.end(), settled.begin(), settled.end());
    };
  }
  bool has(const record_id& id) {
    const std::lock_guard lock(mutex_);
    return std::find(all_.begin(), all_.end(), prefix_of(id)) != all_.end();
  }
  void await(const record_id& id) {
    wait_until("a settle to be told", [&] { return has(id); });
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> all_;
};

/// Completes records through `caller` until one of them is announced: the subscriber need not be
/// the first connection that is ready.
inline void await_notice(blocking_store& caller, settled_notices& notices, const std::string& key) {
  for (int i = 0;; ++i) {
    const auto request = claim_of(key + std::to_string(i));
    caller.completed(request);
    for (int wait = 0; wait < 20; ++wait) {
      if (notices.has(request.id)) return;
      ::poll(nullptr, 0, 5);
    }
    ASSERT_LT(i, 600) << "no record was announced";
  }
}

}  // namespace onceguard::testing
