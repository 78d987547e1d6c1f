// Whether those who use a store know whose memory it has now: until they do, it grants nothing.
#pragma once
#include <atomic>
#include <cstdint>

namespace onceguard {

/// A store that finds another memory where its own stood (a file that was replaced, a server that
/// forgot) knows it before anybody who watches its vitals can. A claim that was on its way then
/// is not granted, whoever sent it, until a look told of the new memory and its caller has taken
/// note: which is certain once that one looks again. Thread-safe; one looks after the other.
class grant_gate {
 public:
  /// From here on it may be another memory.
  void changed() noexcept { changes_.fetch_add(1); }

  /// A look begins; what it returns belongs to look_told().
  [[nodiscard]] std::uint64_t poll_begins() noexcept {
    noted_.store(polled_.load());
    return changes_.load();
  }
  void poll_ended(std::uint64_t begun) noexcept { polled_.store(begun); }

  /// May a claim be granted?
  [[nodiscard]] bool known() const noexcept { return noted_.load() == changes_.load(); }

 private:
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> polled_{0};  // so many of them the last look that was answered saw
  std::atomic<std::uint64_t> noted_{0};   // and whoever looked has taken note of so many
};

}  // namespace onceguard
