// The calls that the pool carries out, and their unfinished parts.
#pragma once
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

#include "base/clock.hpp"
#include "store/call.hpp"

namespace onceguard::postgres {

using steady_time = base::boot_clock::time_point;

class dispatcher;

class job : public call {
 public:
  explicit job(milliseconds timeout) : give_up_at_(base::boot_now() + timeout) {}
  /// When the caller stops waiting.
  [[nodiscard]] steady_time give_up_at() const noexcept { return give_up_at_; }
  /// Puts the parts of the job into the queues.
  virtual void queue_in(dispatcher& dispatcher, const call_ptr& self) = 0;

 private:
  const steady_time give_up_at_;
};

/// Claims, settles or extensions.
template <class Item, class Outcome>
class batch_job final : public job {
 public:
  batch_job(std::vector<Item> items, milliseconds timeout)
      : job(timeout),
        items_(std::move(items)),
        count_(items_.size()),
        left_(count_),
        outcomes_(count_) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] const Item& item(std::size_t i) const { return items_[i]; }
  /// True: this was the last outcome, and the job can be delivered.
  [[nodiscard]] bool conclude(std::size_t i, result<Outcome> reply) {
    outcomes_[i] = std::move(reply);
    return --left_ == 0;
  }
  void queue_in(dispatcher& dispatcher, const call_ptr& self) override;

  /// For the caller, once resumed: one outcome for each item.
  [[nodiscard]] std::vector<result<Outcome>> outcomes() {
    std::vector<result<Outcome>> out;
    out.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (lapse()) {
        out.push_back(*lapse());
      } else {
        out.push_back(std::move(*outcomes_[i]));
      }
    }
    return out;
  }

 private:
  const std::vector<Item> items_;
  const std::size_t count_;
  std::size_t left_;
  std::vector<std::optional<result<Outcome>>> outcomes_;
};

}  // namespace onceguard::postgres
