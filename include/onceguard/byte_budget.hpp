// A memory limit that many operations share.
#pragma once
#include <atomic>
#include <cstddef>
#include <utility>

namespace onceguard {
inline namespace v1 {

/// The limit, and how much of it is in use. Thread-safe. Must outlive its reservations.
class byte_budget {
 public:
  /// A limit of `bytes_max` bytes.
  explicit byte_budget(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  /// The bytes that are reserved now.
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  /// The limit.
  [[nodiscard]] std::size_t bytes_max() const noexcept { return bytes_max_; }

 private:
  friend class byte_reservation;
  [[nodiscard]] bool take(std::size_t bytes, std::size_t left_for_others) noexcept {
    if (left_for_others > bytes_max_ || bytes > bytes_max_ - left_for_others) return false;
    const auto used_max = bytes_max_ - left_for_others - bytes;
    auto used = used_.load(std::memory_order_relaxed);
    do {
      if (used > used_max) return false;
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

/// A part of a budget. The destructor returns the bytes to the budget.
class byte_reservation {
 public:
  byte_reservation() = default;
  /// A reservation of no bytes of `budget`.
  explicit byte_reservation(byte_budget& budget) noexcept : budget_(&budget) {}
  /// Takes over the bytes of `other`, which is then a reservation of no budget.
  byte_reservation(byte_reservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  /// Returns its bytes to the budget and takes over those of `other`.
  byte_reservation& operator=(byte_reservation&& other) noexcept {
    if (this != &other) {
      clear();
      budget_ = std::exchange(other.budget_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  ~byte_reservation() { clear(); }

  /// Grows the reservation to at least `bytes`. Returns false and changes nothing if the budget
  /// would then have less than `left_for_others` bytes left.
  [[nodiscard]] bool grow_to(std::size_t bytes, std::size_t left_for_others = 0) noexcept {
    if (bytes <= bytes_) return true;
    if (budget_ == nullptr || !budget_->take(bytes - bytes_, left_for_others)) return false;
    bytes_ = bytes;
    return true;
  }
  /// Sets the reservation to exactly `bytes`, for memory that is in use in any case. May exceed the
  /// budget: then other reservations can't grow until enough bytes are returned.
  void set(std::size_t bytes) noexcept {
    if (budget_ == nullptr) return;
    if (bytes > bytes_) {
      budget_->take_anyway(bytes - bytes_);
    } else if (bytes < bytes_) {
      budget_->give(bytes_ - bytes);
    }
    bytes_ = bytes;
  }
  /// Returns all bytes to the budget.
  void clear() noexcept {
    if (budget_ != nullptr && bytes_ != 0) budget_->give(bytes_);
    bytes_ = 0;
  }
  /// The bytes that are reserved now.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  byte_budget* budget_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace v1
}  // namespace onceguard
