// Stored answers on their way to clients.
#pragma once
#include <memory>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/record.hpp>

namespace onceguard::gateway {

/// However many clients ask for the same answer and take their time to read it, it is in memory
/// once, and counts once. Thread-safe; outlives what it gives out.
class shared_answers {
 public:
  explicit shared_answers(byte_budget& room) : room_(room) {}
  ~shared_answers();

  /// The answer of that record, for as long as it is held: the one that is on its way already where
  /// it is the same. Null: there is no room, of which `left_for_others` stays free.
  [[nodiscard]] answer_ptr share(const record_id& id, answer_ptr answer,
                                 std::size_t left_for_others);

 private:
  struct entry;
  struct id_hash {
    std::size_t operator()(const record_id& id) const noexcept;
  };

  byte_budget& room_;
  std::mutex mutex_;
  boost::unordered_flat_map<record_id, std::weak_ptr<entry>, id_hash> by_id_;  // under the mutex
};

}  // namespace onceguard::gateway
