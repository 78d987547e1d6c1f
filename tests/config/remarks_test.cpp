// Faults of flags and variables, warnings, notes, and the page that is made of the table.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/all_options.hpp"
#include "config/load.hpp"
#include "config/reference.hpp"
#include "config/remark_texts.hpp"
#include "support/source_tree.hpp"

namespace onceguard::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

sources bare() {
  sources source;
  source.file = "c.toml";
  source.flags["upstream"] = "http://127.0.0.1:9000";
  return source;
}

TEST(faults, name_the_flag_or_the_variable) {
  sources sources;
  sources.environment["ONCEGUARD_LEASE"] = "5ms";
  sources.flags["scope"] = "jwt:sub";
  sources.flags["upstream"] = "ftp://a";
  const auto read = load_text("", sources);
  EXPECT_FALSE(read.ok());
  EXPECT_THAT(
      texts_of(read),
      HasSubstr("ONCEGUARD_LEASE: lease: expected a duration from 1s to 1d, got \"5ms\"\n"));
  EXPECT_THAT(texts_of(read), HasSubstr("--scope: [defaults] scope: \"jwt:sub\" needs keys_file"));
  EXPECT_THAT(texts_of(read), HasSubstr("--upstream: upstream: expected a URL such as"));
}

TEST(faults, say_that_an_upstream_is_missing) {
  sources sources;
  EXPECT_THAT(texts_of(load_text("", sources)),
              HasSubstr("no upstream: give one with --upstream URL"));
  sources.need_upstream = false;
  EXPECT_TRUE(load_text("", sources).ok());
}

TEST(faults, say_that_a_flag_can_not_choose_among_upstreams) {
  EXPECT_THAT(texts_of(load_text("[[upstream]]\nname = \"a\"\nurl = \"http://a\"\n[[upstream]]\n"
                                 "name = \"b\"\nurl = \"http://b\"\n",
                                 bare())),
              HasSubstr("--upstream: upstream: the file names 2 upstreams"));
}

TEST(faults, are_said_once_for_all_routes) {
  const auto read = load_text(
      "[defaults]\nbackoff = \"2m\"\n[[route]]\npath = \"/a\"\n[[route]]\npath = \"/b\"\n", bare());
  EXPECT_THAT(texts_of(read), HasSubstr("c.toml:2:11: [defaults] backoff: must not be longer"));
  const auto faults = std::count_if(read.remarks.begin(), read.remarks.end(),
                                    [](const auto& r) { return r.weight == remark::grade::fault; });
  EXPECT_EQ(faults, 1);
}

TEST(remarks, what_is_written_is_chosen) {
  const auto chosen = load_text(
      "[gateway]\ndrain = \"60s\"\n[defaults]\nscope = \"credential\"\n"
      "outcome = {}\n[[route]]\npath = \"/a\"\n",
      bare());
  EXPECT_EQ(texts_of(chosen), "");
  const auto of_some = load_text("[defaults]\noutcome = { 402 = \"complete\" }\n", bare());
  EXPECT_THAT(texts_of(of_some), HasSubstr("a 503 means that nothing was done"));
}

struct hint {
  const char* name;
  std::string_view toml;
  std::string_view remarks;
};
void PrintTo(const hint& h, std::ostream* out) { *out << h.name; }

class hints : public ::testing::TestWithParam<hint> {};

TEST_P(hints, are_given_and_refuse_nothing) {
  const auto read = load_text(GetParam().toml, bare());
  EXPECT_TRUE(read.ok()) << texts_of(read);
  EXPECT_THAT(texts_of(read), HasSubstr(std::string(GetParam().remarks)));
}

const hint cases[] = {
    {"credential", "", "note: [defaults] scope: a refreshed access token is another credential"},
    {"address", "[defaults]\nscope = \"address\"\n",
     "c.toml:2:9: note: [defaults] scope: clients behind one proxy"},
    {"scope_none", "[defaults]\nscope = \"none\"\n", "c.toml:2:9: warning: [defaults] scope: "},
    {"unknown_retention", "[defaults]\nunknown_retention = \"1s\"\n",
     "c.toml:2:21: warning: [defaults] unknown_retention: a rule to run again"},
    {"open", "[[route]]\npath = \"/a\"\nstore_failure = \"open\"\n",
     "c.toml:3:17: warning: [[route]] store_failure: \"open\" promises at least once"},
    {"rerun", "[defaults]\nunknown = \"rerun\"\n", "promises at least once after a crash"},
    {"retention", "[defaults]\nretention = \"10s\"\n", "shorter than the lease"},
    {"outcome", "[defaults]\noutcome = { \"5xx\" = \"release\" }\n", "may come after the effect"},
    {"success_again", "[defaults]\noutcome = { 202 = \"fail\" }\n", "says that it took effect"},
    {"any_error_of_graphql", "[defaults]\noutcome = { \"json:/errors\" = \"release\" }\n",
     "also fits what failed after the effect"},
    {"mesh", "",
     "note: [defaults] outcome: a 503 means that nothing was done, but one with the sign "},
    {"present_among_previous",
     "[[route]]\npath = \"/a\"\nscope = \"none\"\nprevious_scope = [\"address\", \"none\"]\n",
     "c.toml:4:18: warning: [[route]] previous_scope: has the present scope in it"},
    {"id_of_several_methods", "[defaults]\nkey = [\"path:2\"]\n", "another gets 422"},
    {"content", "[defaults]\nkey = [\"content\"]\n", "take effect once within retention"},
    {"fingerprint", "[defaults]\nfingerprint = \"none\"\n", "gets the first answer"},
    {"drain", "[gateway]\ndrain = \"1s\"\n",
     "c.toml:2:9: warning: [gateway] drain: shorter than upstream_timeout"},
    {"default_drain", "", "note: [gateway] drain: shorter than upstream_timeout"},
    {"ask",
     "[defaults]\nunknown = \"probe\"\nprobe = \"http://a/{scope}/{key}\"\nprobe_mode = \"ask\"\n",
     "c.toml:4:14: warning: [defaults] probe_mode: \"ask\" is weaker"},
    {"interval_for_nobody", "[reconcile]\ninterval = \"5m\"\n",
     "c.toml:2:12: warning: [reconcile] interval: nobody can be asked"},
    {"query_across_scopes",
     "[store]\nurl = \"postgresql://host/shop\"\n[reconcile]\nquery = \"SELECT $2\"\n",
     "c.toml:4:9: warning: [reconcile] query: without $1, the scope"},
    {"idle_database", "[reconcile]\ndatabase = \"postgresql://host/shop\"\n",
     "c.toml:2:12: warning: [reconcile] database: not used without query"},
    {"idle_probe", "[defaults]\nprobe = \"http://a/{scope}/{key}\"\n",
     "without unknown = \"probe\", only reconcile asks there"},
};
INSTANTIATE_TEST_SUITE_P(each, hints, ::testing::ValuesIn(cases),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(hints, leave_a_part_with_a_value_alone) {
  const auto* toml =
      "[defaults]\noutcome = { \"header:grpc-status=14\" = \"release\", \"json:/errors\" = "
      "\"unknown\" }\n";
  EXPECT_THAT(texts_of(load_text(toml, bare())), Not(HasSubstr("a rule on a part")));
}

TEST(hints, leave_a_mesh_alone_where_the_route_says_what_a_503_means) {
  for (const auto* toml :
       {"[defaults]\noutcome = { 503 = \"unknown\" }\n",
        "[defaults]\noutcome = { 5xx = \"unknown\" }\n", "[defaults]\nkeep = \"all\"\n"}) {
    EXPECT_THAT(texts_of(load_text(toml, bare())), Not(HasSubstr("the sign of a proxy"))) << toml;
  }
}

TEST(hints, point_out_a_mistyped_variable) {
  auto source = bare();
  source.environment = {{"ONCEGUARD_LEESE", "30s"}, {"ONCEGUARD_SERVICE_HOST", "10.0.0.1"}};
  const auto text = texts_of(load_text("", source));
  EXPECT_THAT(text, HasSubstr("ONCEGUARD_LEESE: warning: no such variable; did you mean "
                              "ONCEGUARD_LEASE?"));
  EXPECT_THAT(text, Not(HasSubstr("SERVICE_HOST")));
}

TEST(remarks_in_order, stand_as_in_the_file_and_once) {
  const remark late{remark::grade::fault, {layer::route, "f", 9, 1}, "b"};
  const remark early{remark::grade::note, {layer::file, "f", 2, 7}, "a"};
  const remark flag{remark::grade::fault, {layer::flag, "--x"}, "c"};
  remarks list{flag, late, early, late};
  put_in_order(list);
  EXPECT_EQ(list, (remarks{early, late, flag}));
}

TEST(reference, is_the_page_in_the_documentation) {
  std::ifstream file(testing::source_root() / "docs/reference.md", std::ios::binary);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_TRUE(page.str() == reference())
      << "make it anew: onceguard check --reference > docs/reference.md";
}

}  // namespace
}  // namespace onceguard::config
