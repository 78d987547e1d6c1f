// Claims that are made together begin together, so that none waits for another client's while it
// keeps that one waiting.
#pragma once
#include <vector>

#include "serve/operation_table.hpp"

namespace onceguard::serve {

/// On the loop of one thread.
class claim_turns {
 public:
  explicit claim_turns(operation_table& table) : table_(table) {}
  claim_turns(const claim_turns&) = delete;
  claim_turns& operator=(const claim_turns&) = delete;
  /// Ends what was begun and not taken.
  ~claim_turns();

  /// Before begin(). False: the id is there already.
  [[nodiscard]] bool add(const claim_id& claim);
  /// Begins all of them. False: another try of one of them is under way, and none has begun.
  [[nodiscard]] bool begin();
  /// Whoever has begun the claim ends it, too.
  [[nodiscard]] claim_under_way take(const claim_id& claim);

 private:
  operation_table& table_;
  std::vector<claim_id> claims_;  // but those that were taken
  bool has_begun_ = false;
};

}  // namespace onceguard::serve
