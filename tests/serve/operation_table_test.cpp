// Which operations a connection takes with it, over a store in memory.
#include "serve/operation_table.hpp"

#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/testing.hpp>

#include "base/for_ever.hpp"

namespace onceguard::serve {
namespace {

class operations : public ::testing::Test {
 protected:
  operation_ptr claim(const std::string& key, connection_number owner) {
    auto held = std::make_shared<held_operation>();
    held->policy = std::make_shared<const route_policy>(records_.policy());
    auto got = records_.claim({"scope", key}, *held->policy);
    held->lease.emplace(std::move(*got.lease));
    held->id = key;
    held->connection = owner;
    held->renewed_until = base::boot_now() + std::chrono::hours(1);
    return held;
  }
  outcome_kind claim_again(const std::string& key) {
    return records_.claim({"scope", key}, records_.policy()).outcome.kind;
  }

  std::string url_ = "memory:";
  guard records_ = guard::open(url_).value();
  operation_table table_;
};

TEST_F(operations, end_with_their_connection_and_leave_their_leases) {
  const auto one = table_.join();
  const auto two = table_.join();
  ASSERT_TRUE(table_.put(claim("a", one)));
  ASSERT_TRUE(table_.put(claim("b", two)));
  EXPECT_TRUE(table_.holds_any(one));
  table_.leave(one);
  EXPECT_EQ(table_.take("a"), nullptr);
  EXPECT_EQ(claim_again("a"), outcome_kind::busy);
  EXPECT_EQ(records_.engine().gauges().leases, 1u);
  auto held = table_.take("b");
  ASSERT_NE(held, nullptr);
  EXPECT_FALSE(table_.holds_any(two));
  held->let_go();
}

TEST_F(operations, are_not_taken_for_a_connection_that_has_ended) {
  const auto gone = table_.join();
  table_.leave(gone);
  auto held = claim("a", gone);
  EXPECT_FALSE(table_.put(held));
  EXPECT_EQ(table_.size(), 0u);
  held->let_go();
}

TEST_F(operations, are_let_go_once_they_are_old) {
  const auto owner = table_.join();
  auto held = claim("a", owner);
  held->renewed_until = base::boot_now() - milliseconds(1);
  ASSERT_TRUE(table_.put(held));
  ASSERT_TRUE(table_.put(claim("b", owner)));
  table_.let_go_of_old();
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.take("a"), nullptr);
  table_.let_go_of_all();
  EXPECT_EQ(table_.size(), 0u);
  EXPECT_EQ(records_.engine().gauges().leases, 0u);
}

TEST_F(operations, are_found_by_their_claim_and_each_claim_is_answered_alone) {
  const auto owner = table_.join();
  claim_id claimed{};
  claimed.fill(7);
  {
    ASSERT_TRUE(table_.begin_claims({&claimed, 1}));
    const claim_under_way first(table_, claimed);
    EXPECT_FALSE(table_.begin_claims({&claimed, 1}));
  }
  EXPECT_TRUE(table_.begin_claims({&claimed, 1}));
  auto held = claim("a", owner);
  held->claim = claimed;
  ASSERT_TRUE(table_.put(held));
  EXPECT_EQ(table_.take_claimed(claimed), held);
  EXPECT_EQ(table_.take_claimed(claimed), nullptr);
  held->let_go();
}

}  // namespace
}  // namespace onceguard::serve
