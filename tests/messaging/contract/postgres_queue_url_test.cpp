#include <gtest/gtest.h>

#include "messaging/broker_kind.hpp"
#include "messaging/postgres_queue/queue_url.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

TEST(postgres_queue_url, libpq_gets_what_is_not_the_queues) {
  const auto url = parse_queue_url(
      "postgres://u:p%40@h1:1,h2:2/d?sslmode=prefer&queue=S.t&hold=5s&order=skip&dead=yes"
      "&options=-c%20geqo%3Doff");
  ASSERT_TRUE(url.has_value()) << url.error().detail;
  EXPECT_EQ(url->options.at("host"), "h1,h2");
  EXPECT_EQ(url->options.at("password"), "p@");
  EXPECT_EQ(url->options.at("sslmode"), "prefer");
  EXPECT_EQ(url->options.at("options"), "-c geqo=off");
  EXPECT_EQ(url->hosts, 2u);
  EXPECT_EQ(url->table, R"("S"."t")");
  EXPECT_EQ(url->schema, R"("S")");
  EXPECT_EQ(url->hold, milliseconds(5'000));
  EXPECT_TRUE(url->dead);
  EXPECT_TRUE(url->skips);
  EXPECT_EQ(url->name, "postgresql://h1,h2:1,2/d?queue=S.t");
}

TEST(postgres_queue_url, names_are_quoted) {
  EXPECT_EQ(parse_queue_url("postgresql://h/d?queue=my%20%22queue%22")->table, R"("my ""queue""")");
  EXPECT_EQ(parse_queue_url("postgresql://h/d?queue=a%2Eb")->table, R"("a.b")");
  EXPECT_EQ(parse_queue_url("postgresql:///d?queue=q")->hold, milliseconds(30'000));
}

TEST(postgres_queue_url, faults_hold_no_part_of_it) {
  for (const std::string rest :
       {"", "?queue=", "?queue=.a", "?queue=a.", "?queue=a.b.c", "?queue", "?queue=a&queue=b",
        "?queue=%zz", "?queue=a%00", "?queue=a&hold=0s", "?queue=a&hold=xyzzy",
        "?queue=a&dead=xyzzy", "?queue=a&order=xyzzy", "?queue=a&xyzzy=1", "?queue=a&sslmode"}) {
    const auto url = parse_queue_url("postgresql://u:s3cret@h/d" + rest);
    ASSERT_FALSE(url.has_value()) << rest;
    EXPECT_EQ(url.error().code, errc::invalid_argument);
    EXPECT_EQ(url.error().detail.find("s3cret"), std::string::npos) << url.error().detail;
    EXPECT_EQ(url.error().detail.find("xyzzy"), std::string::npos) << url.error().detail;
  }
  EXPECT_FALSE(parse_queue_url("host=h password=s3cret").has_value());
  EXPECT_FALSE(parse_queue_url("postgresql://h/d?queue=" + std::string(64, 'a')).has_value());
}

TEST(postgres_queue_url, nobody_publishes_dead_letters) {
  const std::string url = "postgresql://h/d?queue=q&dead=yes";
  EXPECT_EQ(url_fault(url, broker_role::consumer), "");
  EXPECT_NE(url_fault(url, broker_role::publisher), "");
}

}  // namespace
}  // namespace onceguard::messaging::postgres_queue
