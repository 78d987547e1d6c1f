// A limit on memory that many operations share.
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

namespace onceguard::base {

/// Thread-safe. Outlives its reservations.
class byte_budget {
 public:
  explicit byte_budget(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  friend class reservation;
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    auto used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > bytes_max_ || used > bytes_max_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void take_anyway(std::size_t bytes) noexcept {
    used_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void give(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::size_t bytes_max_;
  std::atomic<std::size_t> used_{0};
};

/// A part of a budget, given back when it goes.
class reservation {
 public:
  reservation() = default;
  explicit reservation(byte_budget& from) noexcept : from_(&from) {}
  reservation(reservation&& other) noexcept
      : from_(std::exchange(other.from_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  reservation& operator=(reservation&& other) noexcept {
    if (this != &other) {
      clear();
      from_ = std::exchange(other.from_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~reservation() { clear(); }

  /// False, and nothing changes, where the budget has no room for that much more.
  [[nodiscard]] bool grow(std::size_t bytes) noexcept {
    if (from_ == nullptr || !from_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  /// Makes it that many bytes. False, and nothing changes, where the budget has no room for that.
  [[nodiscard]] bool resize(std::size_t bytes) noexcept {
    if (bytes > bytes_) return grow(bytes - bytes_);
    if (from_ != nullptr) from_->give(bytes_ - bytes);
    bytes_ = bytes;
    return true;
  }
  /// The same for what is there in any case: where there is no room, others get none until there
  /// is some again.
  void insist(std::size_t bytes) noexcept {
    if (from_ == nullptr || resize(bytes)) return;
    from_->take_anyway(bytes - bytes_);
    bytes_ = bytes;
  }
  void clear() noexcept {
    if (from_ != nullptr && bytes_ != 0) from_->give(bytes_);
    bytes_ = 0;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  byte_budget* from_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace onceguard::base
