// Stored answers that are being sent to clients.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/record.hpp>

#include "core/record_id_hash.hpp"

namespace onceguard::gateway {

/// Keeps an answer in memory once, and counts it once, however many clients request the same answer
/// and receive it slowly. Thread-safe. Must outlive the answers that share() returns.
class shared_answers {
 public:
  explicit shared_answers(byte_budget& room) : room_(room) {}
  ~shared_answers();

  /// Returns the record's answer, and counts it until the pointer is released. If the same answer
  /// is already being sent, returns that copy. Null: the budget has no room that leaves
  /// `left_for_others` bytes free.
  [[nodiscard]] answer_ptr share(const record_id& id, answer_ptr answer,
                                 std::size_t left_for_others);
  /// How many records have answers that are being sent.
  [[nodiscard]] std::size_t records() const {
    const std::lock_guard lock(mutex_);
    return by_id_.size();
  }

 private:
  struct entry;

  byte_budget& room_;
  mutable std::mutex mutex_;  // guards the member below
  boost::unordered_flat_map<record_id, std::weak_ptr<entry>, record_id_hash> by_id_;
};

}  // namespace onceguard::gateway
