// The common form of brokers' URLs.
#include "messaging/broker_url.hpp"

#include <array>

#include <gtest/gtest.h>

#include "messaging/failed_call.hpp"

namespace onceguard::messaging {
namespace {

constexpr std::array<std::string_view, 2> parameters{"hold", "create"};
const broker_url_form form{1234, 1, 2, parameters, "test://host/queue"};

std::string fault_of(std::string_view text) {
  const auto parsed = parse_broker_url(text, form);
  return parsed ? "none" : parsed.error().detail;
}

TEST(broker_url, is_cut_into_its_parts) {
  const auto url =
      parse_broker_url("test://me:p%40ss@[::1]:99/a%2Fb/c?hold=30s&create=yes", form).value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 99);
  EXPECT_EQ(url.login->first, "me");
  EXPECT_EQ(url.login->second, "p@ss");
  EXPECT_EQ(url.segments, (std::vector<std::string>{"a/b", "c"}));
  EXPECT_EQ(duration_of(url, "hold", milliseconds(1)), milliseconds(30'000));
  EXPECT_TRUE(flag_of(url, "create", false));
  EXPECT_EQ(url.name(), "test://[::1]:99/a/b/c");
}

TEST(broker_url, has_defaults) {
  const auto url = parse_broker_url("test://host/queue", form).value();
  EXPECT_EQ(url.port, 1234);
  EXPECT_FALSE(url.login.has_value());
  EXPECT_EQ(duration_of(url, "hold", milliseconds(7)), milliseconds(7));
  EXPECT_FALSE(flag_of(url, "create", false));
}

TEST(broker_url, a_password_may_hold_what_ends_an_authority) {
  EXPECT_EQ(parse_broker_url("test://me:p@ss:word@host/queue", form).value().login->second,
            "p@ss:word");
}

TEST(broker_url, each_fault_has_its_words) {
  const std::vector<std::pair<std::string_view, std::string_view>> faults{
      {"test:queue", "there is no //"},
      {"test:///queue", "there is no host"},
      {"test://me@host/queue", "a user needs a password"},
      {"test://me:%4@host/queue", "a broken % in the password"},
      {"test://host:0/queue", "the port is no port"},
      {"test://host:70000/queue", "the port is no port"},
      {"test://host:/queue", "the port is no port"},
      {"test://[::1/queue", "a broken IPv6 address"},
      {"test://host", "a part of the path is missing"},
      {"test://host/", "a part of the path is missing"},
      {"test://host//a", "an empty part of the path"},
      {"test://host/a/", "an empty part of the path"},
      {"test://host/a/b/c", "the path has too many parts"},
      {"test://host/a%00b", "a %00 in the path"},
      {"test://host/a#b", "a # that is not written as %23"},
      {"test://host/a?other=1", "there is no parameter \"other\""},
      {"test://host/a?hold", "the parameter hold has no value"},
      {"test://host/a?hold=1s&hold=2s", "the parameter hold is given twice"},
  };
  for (const auto& [url, words] : faults) {
    EXPECT_NE(fault_of(url).find(words), std::string::npos) << url << ": " << fault_of(url);
    EXPECT_NE(fault_of(url).find("test://host/queue"), std::string::npos) << url;
  }
}

TEST(broker_url, no_fault_repeats_a_secret) {
  for (const auto* const url : {"test://me:secret@host:0/queue", "test://me:secret@host/a?x=secret",
                                "test://host/a?hold=secret&hold=secret"}) {
    EXPECT_EQ(fault_of(url).find("secret"), std::string::npos) << fault_of(url);
  }
  const auto url = parse_broker_url("test://host/a?hold=secret&create=secret", form).value();
  EXPECT_EQ(caught([&] { return duration_of(url, "hold", milliseconds(1)); })
                .error()
                .detail.find("secret"),
            std::string::npos);
  EXPECT_EQ(caught([&] { return flag_of(url, "create", false); }).error().detail.find("secret"),
            std::string::npos);
}

}  // namespace
}  // namespace onceguard::messaging
