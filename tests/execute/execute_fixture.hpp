// A shop, a till of it, and somebody to charge: what the suites of `execute` share.
#pragma once
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "execute/execute_shop.hpp"

namespace onceguard::testing {

struct card_declined : std::runtime_error {
  card_declined() : std::runtime_error("card declined") {}
};

inline answer receipt(const std::string& text = "paid") {
  return {201, {{"Content-Type", "text/plain"}}, text};
}

inline execute_policy reported_at_once() {
  execute_policy out;
  out.on_busy = on_busy_rule::reject;
  return out;
}

class execute_fixture : public ::testing::TestWithParam<library_under_test> {
 protected:
  [[nodiscard]] std::unique_ptr<till> open() { return shop_->open(); }
  [[nodiscard]] int charges(const std::string& customer) { return shop_->charges(customer); }

  /// Charges once, and counts how often it was tried.
  effect_work charging(till& till, const std::string& customer, const answer& gives = receipt()) {
    return [this, &till, customer, gives](const lease&) {
      ++runs_;
      till.charge(customer);
      return gives;
    };
  }

  std::unique_ptr<shop> shop_ = GetParam().make();
  std::atomic<int> runs_{0};
  const request order_{"ada", "order-1", "amount=5"};
  const std::unique_ptr<till> till_ = open();
};

}  // namespace onceguard::testing
