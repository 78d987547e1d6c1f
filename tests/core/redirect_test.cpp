// Where a redirect leads.
#include "core/redirect.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace onceguard::core {
namespace {

answer redirect(std::string_view location, std::uint16_t status = 307) {
  answer out;
  out.status = status;
  out.headers = {{"location", std::string(location)}};
  return out;
}

TEST(redirect, leads_to_a_path_and_query) {
  const auto target = [](std::string_view location) {
    return redirect_target(redirect(location), "/v1/pay").value_or("none");
  };
  EXPECT_EQ(target("/pay/"), "/pay/");
  EXPECT_EQ(target("/pay/?a=1#top"), "/pay/?a=1");
  EXPECT_EQ(target("https://shop.test:8443/pay/"), "/pay/");
  EXPECT_EQ(target("https://shop.test"), "/");
  EXPECT_EQ(target("https://shop.test?a=1"), "/?a=1");
  EXPECT_EQ(target("//shop.test/pay/"), "/pay/");
  EXPECT_EQ(target("pay/"), "/v1/pay/");
  EXPECT_EQ(target("./pay/"), "/v1/pay/");
  EXPECT_EQ(target("../v2/pay"), "/v2/pay");
  EXPECT_EQ(target("../../../x"), "/x");
  EXPECT_EQ(target("?a=2"), "/v1/pay?a=2");
  EXPECT_EQ(target("/pay?next=http://x.test/"), "/pay?next=http://x.test/");
  EXPECT_EQ(target(""), "none");
}

TEST(redirect, asks_for_the_same_request_elsewhere) {
  constexpr std::array<std::uint16_t, 2> redirects{307, 308};
  for (const auto status : redirects) {
    EXPECT_TRUE(redirect_target(redirect("/x", status), "/")) << status;
  }
  constexpr std::array<std::uint16_t, 7> others{200, 201, 300, 301, 302, 303, 404};
  for (const auto status : others) {
    EXPECT_FALSE(redirect_target(redirect("/x", status), "/")) << status;
  }
  answer bare;
  bare.status = 304;
  EXPECT_FALSE(redirect_target(bare, "/"));
}

TEST(redirect, names_a_host) {
  EXPECT_EQ(redirect_host(redirect("https://ann@shop.test:1/x")), "shop.test:1");
  EXPECT_EQ(redirect_host(redirect("//shop.test")), "shop.test");
  EXPECT_EQ(redirect_host(redirect("/x")), "");
}

TEST(redirect, each_place_has_a_scope_of_its_own) {
  const digest scope{1};
  EXPECT_NE(redirected_scope(scope, "/a"), redirected_scope(scope, "/b"));
  EXPECT_NE(redirected_scope(scope, "/a"), redirected_scope(digest{2}, "/a"));
  EXPECT_NE(redirected_scope(scope, "/a"), scope);
}

}  // namespace
}  // namespace onceguard::core
