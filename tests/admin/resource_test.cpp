#include "admin/resource.hpp"

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

TEST(resource_test, a_segment_stands_for_the_parameter) {
  const auto all = some();
  request read;
  read.method = "POST";
  read.path = "/records/17/release";
  EXPECT_EQ(find_resource(all, read).found, &all[2]);
  EXPECT_EQ(read.segment, "17");
}

TEST(resource_test, a_parameter_is_one_segment_and_not_empty) {
  const auto all = some();
  for (const auto* path : {"/records/", "/records/a/b", "/records//release"}) {
    request read;
    read.method = "POST";
    read.path = path;
    EXPECT_EQ(find_resource(all, read).found, nullptr) << path;
  }
}

TEST(resource_test, another_method_differs_from_another_path) {
  const auto all = some();
  request read;
  read.method = "DELETE";
  read.path = "/records";
  EXPECT_EQ(find_resource(all, read).allowed, "GET, HEAD");
  read.path = "/nothing";
  EXPECT_EQ(find_resource(all, read).allowed, "");
}

}  // namespace
}  // namespace onceguard::admin
