#include "config/policy/profiles.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"
#include "support/source_tree.hpp"

namespace onceguard::config {
namespace {

sources without_upstream() {
  sources out;
  out.file = "c.toml";
  out.need_upstream = false;
  return out;
}

route_policy policy_of(const std::string& toml) {
  const auto read = load_text(toml, without_upstream());
  EXPECT_TRUE(read.ok()) << texts_of(read);
  return read.values.routing.routes.front().policy;
}

TEST(profiles, set_options_that_exist_to_values_that_they_take) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& given : profile_rows()) {
    bool found = false;
    for (const auto& row : policy_rows()) {
      if (row.spec.name != given.option) continue;
      remarks out;
      EXPECT_TRUE(read_text(row.spec, given.value, {}, {}, out)) << given.option;
      found = true;
    }
    EXPECT_TRUE(found) << given.option;
    EXPECT_TRUE(given.source.starts_with("https://"));
    EXPECT_TRUE(seen.emplace(given.profile, given.option).second) << given.option;
  }
}

TEST(profiles, stand_in_the_documentation) {
  std::ifstream file(testing::source_root() / "docs/profiles.md");
  std::stringstream page;
  page << file.rdbuf();
  std::string_view section;
  std::string expected;
  for (const auto& given : profile_rows()) {
    if (given.profile != section) {
      section = given.profile;
      expected +=
          "\n## `" + std::string(section) + "`\n| option | value | source |\n| --- | --- | --- |\n";
    }
    expected += "| `" + std::string(given.option) + "` | `" + std::string(given.value) + "` | <" +
                std::string(given.source) + "> |\n";
  }
  EXPECT_NE(page.str().find(expected), std::string::npos) << expected;
}

TEST(profiles, set_what_is_not_set_by_itself) {
  const auto plain = policy_of("[defaults]\nprofile = \"adyen\"\n");
  EXPECT_EQ(plain.errors, error_form::adyen);
  EXPECT_EQ(plain.busy_status, 422);
  EXPECT_TRUE(plain.echo_key);
  const auto chosen = policy_of("[defaults]\nprofile = \"adyen\"\nbusy_status = \"409\"\n");
  EXPECT_EQ(chosen.busy_status, 409);
  EXPECT_EQ(chosen.errors, error_form::adyen);
}

TEST(profiles, of_a_route_leave_what_the_defaults_say) {
  const auto route = policy_of(
      "[defaults]\nretention = \"2h\"\n[[route]]\npath = \"/\"\nprofile = \"stripe\"\n"
      "keep = \"success\"\n");
  EXPECT_EQ(route.retention, std::chrono::hours(2));
  EXPECT_EQ(route.keep, keep_rule::success);
  EXPECT_EQ(route.mismatch_status, 400);
  EXPECT_EQ(route.outcome_status.at(429), outcome_rule::release);
}

TEST(profiles, of_the_defaults_give_way_to_that_of_a_route) {
  const auto route =
      policy_of("[defaults]\nprofile = \"stripe\"\n[[route]]\npath = \"/\"\nprofile = \"ietf\"\n");
  EXPECT_EQ(route.mismatch_status, 422);
  EXPECT_EQ(route.errors, error_form::problem);
  EXPECT_EQ(route.fingerprint.kind, fingerprint_kind::exact) << "nothing is left of stripe";
  EXPECT_TRUE(route.outcome_status.empty());
  EXPECT_TRUE(
      policy_of("[defaults]\nprofile = \"stripe\"\n[[route]]\npath = \"/\"\nprofile = \"\"\n")
          .outcome_status.empty());
}

}  // namespace
}  // namespace onceguard::config
