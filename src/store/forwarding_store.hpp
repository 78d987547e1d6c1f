// A store whose calls are those of another store, as long as that one can be called.
#pragma once
#include "store/store_overrides.hpp"

namespace onceguard {

class forwarding_store : public store {
 public:
  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<void>> check_writes(milliseconds timeout) override;
  [[nodiscard]] std::vector<store_number> numbers() const override;

 protected:
  /// The store, which outlives its calls, or with what error calls fail now.
  [[nodiscard]] virtual result<store*> target() const = 0;
};

}  // namespace onceguard
