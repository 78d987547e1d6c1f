#include "http/forwarding.hpp"

#include <gtest/gtest.h>

namespace onceguard::http {
namespace {

using fields = std::vector<base::field>;

address_block block(std::string_view text) {
  address_block out;
  EXPECT_TRUE(address_block::parse(text, out)) << text;
  return out;
}

TEST(address_blocks, contain_what_their_bits_say) {
  EXPECT_TRUE(block("10.0.0.0/8").contains("10.200.3.4"));
  EXPECT_FALSE(block("10.0.0.0/8").contains("11.0.0.1"));
  EXPECT_TRUE(block("192.0.2.7").contains("192.0.2.7"));
  EXPECT_FALSE(block("192.0.2.7").contains("192.0.2.8"));
  EXPECT_TRUE(block("192.0.2.128/25").contains("192.0.2.200"));
  EXPECT_FALSE(block("192.0.2.128/25").contains("192.0.2.100"));
  EXPECT_TRUE(block("2001:db8::/32").contains("2001:db8:1::1"));
  EXPECT_TRUE(block("0.0.0.0/0").contains("1.2.3.4"));
  EXPECT_FALSE(block("::1").contains("not an address"));
}

TEST(address_blocks, refuse_what_is_none) {
  address_block out;
  for (const auto* text : {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::/129",
                           "host", "1.2.3.4/8x"}) {
    EXPECT_FALSE(address_block::parse(text, out)) << text;
  }
}

TEST(origin, is_the_peer_unless_that_is_a_listed_proxy) {
  const std::vector<address_block> trusted{block("10.0.0.0/8")};
  const fields chain{{"X-Forwarded-For", "6.6.6.6, 192.0.2.9, 10.1.1.1"}};
  EXPECT_EQ(find_origin("192.0.2.1", chain, trusted).address, "192.0.2.1");
  // From the right, the first that is not a listed proxy: what stands before it anybody may write.
  EXPECT_EQ(find_origin("10.0.0.1", chain, trusted).address, "192.0.2.9");
  EXPECT_EQ(find_origin("10.0.0.1", {}, trusted).address, "10.0.0.1");
}

TEST(forwarded, replaces_a_strangers_and_extends_a_listed_proxys) {
  const fields headers{{"Host", "shop"},
                       {"X-Forwarded-For", "1.1.1.1"},
                       {"X-Forwarded-Proto", "https"},
                       {"Forwarded", "for=1.1.1.1"}};
  const auto stranger = make_forwarded("192.0.2.1", false, headers);
  EXPECT_EQ(stranger.forwarded_for, "192.0.2.1");
  EXPECT_EQ(stranger.proto, "http");
  EXPECT_EQ(stranger.host, "shop");
  EXPECT_EQ(stranger.forwarded, "for=192.0.2.1;host=\"shop\";proto=http");
  const auto listed = make_forwarded("10.0.0.1", true, headers);
  EXPECT_EQ(listed.forwarded_for, "1.1.1.1, 10.0.0.1");
  EXPECT_EQ(listed.proto, "https");
  EXPECT_EQ(listed.forwarded, "for=1.1.1.1, for=10.0.0.1;host=\"shop\";proto=http");
  EXPECT_EQ(make_forwarded("::1", false, {}).forwarded, "for=\"[::1]\";proto=http");
}

TEST(travel, what_connection_lists_stays_but_nothing_that_others_rely_on) {
  const fields headers{{"Connection", "x-secret, Authorization, Idempotency-Key"}};
  const travel_filter filter(headers);
  EXPECT_FALSE(filter.travels("X-Secret"));
  EXPECT_TRUE(filter.travels("Authorization"));
  EXPECT_TRUE(filter.travels("Idempotency-Key"));
  EXPECT_FALSE(filter.travels("TE"));
  EXPECT_TRUE(filter.travels("Accept"));
}

}  // namespace
}  // namespace onceguard::http
