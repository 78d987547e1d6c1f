#include "http/forwarded_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/field.hpp"
#include "http/request_loop.hpp"

namespace onceguard::http {
namespace {

using header_lines = std::vector<base::field>;

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
  const header_lines chain{{"X-Forwarded-For", "6.6.6.6, 192.0.2.9, 10.1.1.1"}};
  EXPECT_EQ(find_origin("192.0.2.1", chain, trusted).address, "192.0.2.1");
  // From the right, the first that is not a listed proxy: what stands before it anybody may write.
  EXPECT_EQ(find_origin("10.0.0.1", chain, trusted).address, "192.0.2.9");
  EXPECT_EQ(find_origin("10.0.0.1", {}, trusted).address, "10.0.0.1");
  const header_lines lines{{"X-Forwarded-For", "6.6.6.6, 192.0.2.9"},
                           {"Via", "x"},
                           {"x-forwarded-for", "10.2.2.2"},
                           {"X-Forwarded-For", "10.1.1.1"}};
  EXPECT_EQ(find_origin("10.0.0.1", lines, trusted).address, "192.0.2.9");
}

TEST(forwarded, replaces_a_strangers_and_extends_a_listed_proxys) {
  const header_lines headers{{"Host", "shop"},
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

TEST(origin, is_not_known_where_a_listed_proxy_does_not_know_it) {
  const std::vector<address_block> trusted{block("10.0.0.0/8")};
  for (const auto* chain : {"unknown", "6.6.6.6, unknown", "192.0.2.9:4711", "unknown, 10.1.1.1"}) {
    const header_lines headers{{"X-Forwarded-For", chain}};
    EXPECT_EQ(find_origin("10.0.0.1", headers, trusted).address, "") << chain;
  }
  for (const auto* chain : {"", ",", " , "}) {
    const header_lines headers{{"X-Forwarded-For", chain}};
    EXPECT_EQ(find_origin("10.0.0.1", headers, trusted).address, "") << chain;
  }
  const header_lines by_another_field{{"Forwarded", "for=192.0.2.9"}};
  EXPECT_EQ(find_origin("10.0.0.1", by_another_field, trusted).address, "");
  EXPECT_EQ(find_origin("192.0.2.1", by_another_field, trusted).address, "192.0.2.1");
  for (const auto* spelling : {"2001:db8::1", "2001:DB8:0:0::1", "2001:db8:0:0:0:0:0:1"}) {
    const header_lines one{{"X-Forwarded-For", spelling}};
    EXPECT_EQ(find_origin("10.0.0.1", one, trusted).address, "2001:db8::1");
  }
  const header_lines mapped{{"X-Forwarded-For", "::ffff:192.0.2.9"}};
  EXPECT_EQ(find_origin("10.0.0.1", mapped, trusted).address, "192.0.2.9");
  const header_lines both{{"Forwarded", "for=6.6.6.6"}, {"X-Forwarded-For", "192.0.2.9"}};
  EXPECT_EQ(find_origin("10.0.0.1", both, trusted).address, "192.0.2.9");
  const header_lines other_spelling{{"X_Forwarded_For", "192.0.2.9"}};
  EXPECT_EQ(find_origin("10.0.0.1", other_spelling, trusted).address, "10.0.0.1");
}

class travel : public ::testing::Test {
 protected:
  route_policy policy;

  travel() {
    policy.scope = {scope_source::header, "x-shop"};
    policy.previous_scope = {{scope_source::header, "x-shop-before"}, {scope_source::cookie, "te"}};
  }
  bool travels(std::string_view name, const header_lines& headers = {}) const {
    return travel_filter(headers, policy).travels(name);
  }
};

TEST_F(travel, what_connection_lists_stays_but_nothing_that_others_rely_on) {
  const header_lines headers{
      {"Connection",
       "x-secret, Authorization, Idempotency-Key, host, Cookie, Content-Type, "
       "X-Shop, x-shop-before, X-Tenant, X-Api-Key, X_User"},
      {"connection", "keep-alive, X-Other"}};
  for (const auto* name : {"X-Secret", "x_secret", "X-Other", "TE", "Keep-Alive"}) {
    EXPECT_FALSE(travels(name, headers)) << name;
  }
  for (const auto* name :
       {"Authorization", "Idempotency-Key", "Host", "Cookie", "Content-Type", "X-Shop",
        "X-Shop-Before", "X-Tenant", "X-Api-Key", "X_User", "Accept", "X-Secret-2"}) {
    EXPECT_TRUE(travels(name, headers)) << name;
  }
}

TEST_F(travel, connection_field_of_an_answer_may_list_any_field) {
  const header_lines headers{{"Connection", "Cookie, X-Shop, Onceguard-Token"}};
  const travel_filter filter(headers);
  EXPECT_FALSE(filter.travels("Cookie"));
  EXPECT_FALSE(filter.travels("X-Shop"));
  EXPECT_TRUE(filter.travels("Onceguard-Outcome"));
  EXPECT_TRUE(filter.travels("Content_Type"));
}

TEST_F(travel, any_number_of_names_may_be_listed) {
  std::string list;
  for (int i = 0; i < 12; ++i) list += "x-" + std::to_string(i) + ", ";
  const header_lines headers{{"Connection", list}};
  for (int i = 0; i < 12; ++i) EXPECT_FALSE(travels("X-" + std::to_string(i), headers)) << i;
  EXPECT_TRUE(travels("X-12", headers));
  EXPECT_TRUE(travels("Accept", headers));
}

TEST_F(travel, more_names_than_a_message_has_fields_are_too_many) {
  std::string list;
  for (std::size_t i = 0; i < connection_names_max; ++i) list += "x,";
  EXPECT_FALSE(lists_too_many(header_lines{{"Connection", list}, {"Via", "a,b"}}));
  EXPECT_TRUE(lists_too_many(header_lines{{"connection", list}, {"Connection", "y"}}));
}

TEST_F(travel, what_an_application_could_take_for_a_field_of_ours_stays) {
  for (const auto* name :
       {"Onceguard-Token", "Onceguard_Token", "ONCEGUARD_x", "Idempotency_Key", "Content_Type",
        "Content_Length", "Transfer_Encoding", "transfer-Encoding", "Keep_Alive",
        "Proxy_Authorization", "Proxy_Connection", "HTTP2_Settings", "X_Shop", "x_shop_before",
        "X-Shop_Before"}) {
    EXPECT_FALSE(travels(name)) << name;
  }
  for (const auto* name :
       {"X_Forwarded_For", "X_FORWARDED_PROTO", "x-forwarded_host", "Forwarded"}) {
    EXPECT_TRUE(is_forwarded_field(name)) << name;
  }
  for (const auto* name : {"X_Custom", "Onceguard", "X_Shops", "Accept_Language", "X_Tenant"}) {
    EXPECT_TRUE(travels(name)) << name;
    EXPECT_FALSE(is_forwarded_field(name)) << name;
  }
}

TEST(circle, is_seen_by_the_mark_of_this_process) {
  EXPECT_EQ(circle_fault(header_lines{{"cdn-loop", "other, onceguard-7"}}, "onceguard-8", 8), "");
  EXPECT_THAT(circle_fault(header_lines{{"cdn-loop", "other, onceguard-8"}}, "onceguard-8", 8),
              ::testing::HasSubstr("through this gateway before"));
}

TEST(circle, is_seen_by_too_many_gateways) {
  const auto fault = [](const header_lines& given) {
    return circle_fault(given, "onceguard-8", 2);
  };
  EXPECT_EQ(fault(header_lines{}), "");
  EXPECT_EQ(fault(header_lines{{"Via", "1.1 onceguard, 1.1 onceguard"}}), "");
  // Others, and names that only begin so, do not count.
  EXPECT_EQ(fault(header_lines{{"Via", "1.1 varnish, HTTP/2 onceguards:80, onceguard"},
                               {"Via", "1.1 onceguard, 1.0 onceguard"}}),
            "");
  EXPECT_THAT(fault(header_lines{{"via", "1.1 a, HTTP/1.1\tOnceguard (a comment)"},
                                 {"Via", "1.1  onceguard,1.0 onceguard"}}),
              ::testing::HasSubstr("through too many gateways"));
  EXPECT_EQ(fault(header_lines{{"Via", ",, ,1.1,"}}), "");
}

TEST(circle, a_hop_names_the_version_that_the_request_came_in) {
  EXPECT_EQ(via_element(0), "1.0 onceguard");
  EXPECT_EQ(via_element(1), "1.1 onceguard");
}

TEST_F(travel, the_scopes_own_spelling_is_the_one_that_travels) {
  policy.scope.name = "x_shop";
  EXPECT_TRUE(travels("X_Shop"));
  EXPECT_FALSE(travels("X-Shop"));
}

}  // namespace
}  // namespace onceguard::http
