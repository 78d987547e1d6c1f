// What servers may make of a path that they don't all read alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/request_target.hpp"

namespace onceguard::http {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;
using ::testing::StartsWith;

struct misreading {
  std::string_view path;
  std::string_view as;
};

class readings : public ::testing::TestWithParam<misreading> {};

TEST_P(readings, are_found) {
  const auto path = GetParam().path;
  EXPECT_TRUE(has_other_readings(path));
  const auto found = other_readings(path);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, Contains(GetParam().as));
  EXPECT_THAT(*found, Not(Contains(normalise_path(path))));
}

constexpr misreading cases[] = {
    {"/v1%2Fpay", "/v1/pay"},
    {"/v1%2fpay", "/v1/pay"},
    {"/v1%5Cpay", "/v1/pay"},
    {"/v1\\pay", "/v1/pay"},
    {"/v1/pay%00x", "/v1/pay"},
    {"/v1/pay%3Fx", "/v1/pay"},
    {"/v1/pay%23x", "/v1/pay"},
    {"/v1/%252e%252e/pay", "/pay"},
    {"/v1%252Fpay", "/v1/pay"},
    {"/v1%25252Fpay", "/v1/pay"},
    {"//v1/pay", "/v1/pay"},
    {"/v1//pay", "/v1/pay"},
    {"/v1///pay/", "/v1/pay/"},
    {"/v1;a=b/pay;v=1", "/v1/pay"},
    {"/v1;/pay", "/v1/pay"},
    {"/v1/pay%3Bv=1", "/v1/pay"},
    {"/x/..;/v1/pay", "/v1/pay"},
    {"/x/..;a/v1/pay", "/v1/pay"},
    {"/x/%2e%2e%2fv1/pay", "/v1/pay"},
    {"/x/..%2fv1/pay", "/v1/pay"},
    {"/x/..%5cv1/pay", "/v1/pay"},
    {"/a//../v1/pay", "/v1/pay"},  // merged first
    {"/a/b//../../v1", "/v1"},
    {"/a//..//v1", "/a/v1"},  // dots first
    {"/a/.;/v1//pay%2f", "/a/v1/pay/"},
    {"/v1/p%61y%2F", "/v1/pay/"},
};
INSTANTIATE_TEST_SUITE_P(each, readings, ::testing::ValuesIn(cases));

TEST(reading_of_paths, most_have_but_one) {
  for (const auto* path : {"/", "/v1/pay", "/v1/../pay", "/v1/./pay/", "/a-b_c~d.e/:f@g", "*"}) {
    EXPECT_FALSE(has_other_readings(path)) << path;
    EXPECT_TRUE(other_readings(path)->empty()) << path;
  }
}

TEST(reading_of_paths, stays_below_what_is_only_quoted) {
  EXPECT_THAT(*other_readings("/files/a%20b"), Each(StartsWith("/files/a")));
}

TEST(reading_of_paths, has_an_end) {
  std::string nested = "/%";
  for (int i = 0; i < 5'000; ++i) nested += "25";
  EXPECT_FALSE(other_readings(nested));
  std::string slashes(15'000, '/');
  EXPECT_TRUE(other_readings(slashes));
}

}  // namespace
}  // namespace onceguard::http
