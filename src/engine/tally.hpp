// Counts what is under way, so that a shutdown can wait for it.
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

namespace onceguard {

/// One of the counted, for as long as it lives.
class tally {
 public:
  explicit tally(std::atomic<std::size_t>& atomic) : of_(&atomic), before_(atomic.fetch_add(1)) {}
  tally(tally&& source) noexcept
      : of_(std::exchange(source.of_, nullptr)), before_(source.before_) {}
  tally& operator=(tally&&) = delete;
  ~tally() {
    if (of_ != nullptr) of_->fetch_sub(1);
  }
  /// How many there were when it came.
  [[nodiscard]] std::size_t before() const noexcept { return before_; }

 private:
  std::atomic<std::size_t>* of_;
  std::size_t before_;
};

}  // namespace onceguard
