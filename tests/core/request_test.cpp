// Requests to the library: whose they are, and what makes two of them the same.
#include "core/request.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

TEST(request_digests, the_kind_of_a_scope_counts_also_for_the_thread_that_remembers_the_scope) {
  const request by_tenant("ada", "order-1");
  auto by_user = by_tenant;
  by_user.scope_kind = "user";
  const auto first = digests_of(by_tenant);
  const auto second = digests_of(by_user);
  EXPECT_NE(first.scope, second.scope);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(digests_of(by_tenant).id, first.id);
}

TEST(request_complaint, nobody_has_the_scope_of_the_mark_of_a_pepper) {
  request wanted("", "onceguard-pepper");
  EXPECT_FALSE(complaint(wanted));
  wanted.scope_kind = "onceguard pepper";
  ASSERT_TRUE(complaint(wanted));
  EXPECT_EQ(complaint(wanted)->code, errc::invalid_argument);
}

TEST(request_digests, a_scope_counts_however_long_it_is) {
  const request one(std::string(1'000, 'a'), "order-1");
  const request other(std::string(999, 'a') + 'b', "order-1");
  EXPECT_NE(digests_of(one).scope, digests_of(other).scope);
  EXPECT_EQ(digests_of(one).scope, digests_of(one).scope);
}

}  // namespace
}  // namespace onceguard
