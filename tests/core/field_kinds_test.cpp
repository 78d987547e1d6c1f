// Which header fields say for whom and what a request asks, and which mark a try alone.
#include "core/field_kinds.hpp"

#include <gtest/gtest.h>

namespace onceguard::core {
namespace {

TEST(field_kinds, name_an_account_by_a_word_of_theirs) {
  for (const auto* name :
       {"X-Team", "X-Team-Id", "X-Namespace", "X-Vault-Namespace", "X-Site", "X_Site_Id", "X-Store",
        "X-Shop", "X-Realm", "X-Project", "X-Brand-Id", "X-Business-Id", "X-MS-Subscription-Id",
        "X-User", "Stripe-Account", "tenant_id"}) {
    EXPECT_TRUE(names_account(name)) << name;
  }
  for (const auto* name : {"Sec-Fetch-Site", "X-Steam-Id", "X-Onsite", "X-Teammate", "X-User-Agent",
                           "X-Workspaces", "Ocp-Apim-Subscription-Key", "X-Region", "X-Instance"}) {
    EXPECT_FALSE(names_account(name)) << name;
  }
}

TEST(field_kinds, mark_a_try_by_the_end_of_the_name_whatever_stands_before) {
  for (const auto* name :
       {"X-Tenant-Request-Id", "x_account_request_id", "X-Merchant-RequestId", "Store-Trace-Id",
        "X-Team-Correlation-Id", "X-Customer-Nonce", "X-Org-Attempt", "X-Simulation-Retry-Count",
        "X-Shop-Timestamp", "X-Override-Request-Id", "X-Client-Request-Id", "clientRequestId",
        "x-ms-client-request-id", "X-B3-SpanId", "Request-Id"}) {
    EXPECT_TRUE(marks_a_try(name)) << name;
    EXPECT_FALSE(names_account(name)) << name;
    EXPECT_FALSE(names_operation(name)) << name;
  }
  for (const auto* name : {"X-Request-Id-Tenant", "X-Nonce-Account", "X-Tenant-Trace-Id-Owner"}) {
    EXPECT_FALSE(marks_a_try(name)) << name;
    EXPECT_TRUE(names_account(name)) << name;
  }
  for (const auto* name : {"X-Country", "X-Announce", "X-Order-Id", "Idempotency-Key", ""}) {
    EXPECT_FALSE(marks_a_try(name)) << name;
  }
}

}  // namespace
}  // namespace onceguard::core
