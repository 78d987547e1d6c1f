#include "admin/resource.hpp"

#include <utility>

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

resources some() {
  const handler unused = [](const request&) -> boost::asio::awaitable<response> {
    co_return response{};
  };
  return {{"GET", "/records", access::view, unused},
          {"GET", "/records/{record}", access::view, unused},
          {"POST", "/records/{record}/release", access::act, unused}};
}

TEST(resource_test, a_target_is_cut_and_decoded) {
  request read;
  ASSERT_TRUE(read_target("/records?key=a%20b+c&key=2&empty", read));
  EXPECT_EQ(read.path, "/records");
  EXPECT_EQ(read.parameter("key"), "a b c");
  EXPECT_EQ(read.query.size(), 3u);
  EXPECT_EQ(read.parameter("missing"), "");
}

TEST(resource_test, a_target_that_is_not_well_formed_is_refused) {
  for (const auto* target : {"*", "http://a/b", "/%", "/%4", "/%zz", "/a?b=%"}) {
    request read;
    EXPECT_FALSE(read_target(target, read)) << target;
  }
}

/// What a client asks for.
request asked(std::string_view method, std::string_view target) {
  request out;
  out.method = method;
  EXPECT_TRUE(read_target(target, out)) << target;
  return out;
}

TEST(resource_test, a_segment_stands_for_the_parameter) {
  const auto all = some();
  auto read = asked("POST", "/records/17/release");
  EXPECT_EQ(find_resource(all, read).found, &all[2]);
  EXPECT_EQ(read.segment, "17");
}

TEST(resource_test, a_name_may_hold_what_is_escaped) {
  const auto all = some();
  for (const auto& [target, name] : {std::pair("/records/bill%2Fing/release", "bill/ing"),
                                     std::pair("/records/%2f/release", "/"),
                                     std::pair("/records/a%2Frelease/release", "a/release"),
                                     std::pair("/records/50%25%3F%23%20%2B+/release", "50%?# ++"),
                                     std::pair("/records/%7Ba%7D/release?b=%2F", "{a}"),
                                     std::pair("/%72ecords/%C3%A9/release", "\xc3\xa9")}) {
    auto read = asked("POST", target);
    EXPECT_EQ(find_resource(all, read).found, &all[2]) << target;
    EXPECT_EQ(read.segment, name);
  }
}

TEST(resource_test, an_escaped_slash_divides_nothing) {
  const auto all = some();
  for (const auto* target : {"/records%2F17/release", "/records/17%2Frelease"}) {
    auto read = asked("POST", target);
    EXPECT_EQ(find_resource(all, read).found, nullptr) << target;
  }
}

TEST(resource_test, a_parameter_is_one_segment_and_not_empty) {
  const auto all = some();
  for (const auto* target : {"/records/", "/records/a/b", "/records//release",
                             "/records/a/release/", "//records/a/release", "/records/a"}) {
    auto read = asked("POST", target);
    EXPECT_EQ(find_resource(all, read).found, nullptr) << target;
  }
}

TEST(resource_test, another_method_differs_from_another_path) {
  const auto all = some();
  auto read = asked("DELETE", "/records");
  EXPECT_EQ(find_resource(all, read).allowed, "GET, HEAD");
  for (const auto* target : {"/nothing", "/", "/records/17/", "/record"}) {
    read = asked("DELETE", target);
    EXPECT_EQ(find_resource(all, read).allowed, "") << target;
  }
}

}  // namespace
}  // namespace onceguard::admin
