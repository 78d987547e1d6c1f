// What an upstream keeps when a flag moves it, and what a route of webhooks keeps by itself.
#include <fstream>

#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"
#include "support/temporary_folder.hpp"
#include "tls/context.hpp"

namespace onceguard::config {
namespace {

TEST(routing, a_flag_that_moves_the_upstream_leaves_its_tls_options) {
  sources source;
  source.file = "c.toml";
  source.flags["upstream"] = "https://192.0.2.7";
  const auto read = load_text(
      "[[upstream]]\nname = \"a\"\nurl = \"https://shop.example\"\ntls_name = \"shop.example\"\n",
      source);
  ASSERT_TRUE(read.ok()) << texts_of(read);
  ASSERT_EQ(read.values.routing.upstreams.size(), 1U);
  const auto& address = read.values.routing.upstreams[0].address;
  EXPECT_EQ(address.host, "192.0.2.7");
  ASSERT_NE(address.tls, nullptr);
}

class webhook_retention : public ::testing::Test {
 protected:
  /// The configuration of one route for deliveries of a sender that allows an hour.
  loaded load(const std::string& retention) {
    std::ofstream(folder_.path() / "secret") << "0123456789abcdef0123456789abcdef\n";
    sources source;
    source.file = "c.toml";
    return load_text(R"([[webhook]]
name = "bank"
id = ["header:X-Id"]
timestamp = "header:X-Time"
signed = "{id}.{timestamp}.{body}"
signature = "header:X-Signature"
tolerance = "1h"
[[upstream]]
name = "shop"
url = "http://shop:9000"
[[route]]
path = "/bank"
webhook = "bank"
webhook_secret_file = ")" +
                         (folder_.path() / "secret").string() + "\"\n" + retention,
                     source);
  }

  testing::temporary_folder folder_;
};

TEST_F(webhook_retention, is_a_week_by_itself) {
  const auto read = load("");
  ASSERT_TRUE(read.ok()) << texts_of(read);
  for (const auto& route : read.values.routing.routes) {
    if (route.path != "/bank") continue;
    EXPECT_EQ(route.policy.retention, milliseconds(7 * 86'400'000LL));
  }
}

TEST_F(webhook_retention, of_less_than_twice_the_tolerance_is_remarked) {
  const std::string warning = "retention: shorter than twice the tolerance";
  EXPECT_NE(texts_of(load("retention = \"119m\"\n")).find(warning), std::string::npos);
  EXPECT_EQ(texts_of(load("retention = \"2h\"\n")).find(warning), std::string::npos);
}

}  // namespace
}  // namespace onceguard::config
