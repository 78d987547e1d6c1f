// The grant gate: keeps a store from granting claims until its users know whose memory it has now.
#pragma once
#include <atomic>
#include <cstdint>

namespace onceguard {

/// A store that finds another memory in place of its former one (a file was replaced, a server
/// forgot) knows so before any poll of its vitals can report it. From then on no claim is granted,
/// not even one that was on its way, until a poll has reported the new memory and the poller has
/// handled the report. The start of the next poll proves that it has. Thread-safe; polls must not
/// overlap.
class grant_gate {
 public:
  /// The store may have another memory from here on.
  void changed() noexcept { changes_.fetch_add(1); }

  /// A poll begins. Its result is for poll_ended().
  [[nodiscard]] std::uint64_t poll_begins() noexcept {
    noted_.store(polled_.load());
    return changes_.load();
  }
  void poll_ended(std::uint64_t begun) noexcept { polled_.store(begun); }

  /// May claims be granted?
  [[nodiscard]] bool known() const noexcept { return noted_.load() == changes_.load(); }

 private:
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> polled_{0};  // the changes that the last answered poll has seen
  std::atomic<std::uint64_t> noted_{0};   // the changes that the poller has handled
};

}  // namespace onceguard
