// A complaint names what is wrong, and repeats no password and no token.
#include "config/table/quoted.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"

namespace onceguard::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(quoted_test, a_url_is_shown_without_what_may_be_secret) {
  EXPECT_EQ(quoted("http://u:SECRET@host/a"), "\"http://***@host/a\"");
  EXPECT_EQ(quoted("http://u:SEC@RET@host/a"), "\"http://***@host/a\"");
  EXPECT_EQ(quoted("http://u:SEC?RET@host/a?t=SECRET"), "\"http://***@host/a?***\"");
  EXPECT_EQ(quoted("http://host/a?token=SECRET#b"), "\"http://host/a?***\"");
  EXPECT_EQ(quoted("http://host/a#SECRET"), "\"http://host/a#***\"");
  EXPECT_EQ(quoted("see redis://:SECRET@host"), "\"see redis://***@host\"");
}

TEST(quoted_test, what_is_no_url_is_shown_whole) {
  EXPECT_EQ(quoted("a@b?c#d"), "\"a@b?c#d\"");
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("://"), "\"://\"");
}

TEST(quoted_test, a_url_may_lack_its_scheme) {
  EXPECT_EQ(quoted_url("u:SECRET@host/a?t=SECRET"), "\"***@host/a?***\"");
  EXPECT_EQ(quoted_url("check?secret=SECRET"), "\"check?***\"");
  EXPECT_EQ(quoted_url("/check"), "\"/check\"");
}

/// A value of one option that is wrong there.
struct wrong_value {
  std::string_view before;
  std::string_view value;
};

class refused_values : public ::testing::TestWithParam<wrong_value> {};

TEST_P(refused_values, keep_their_secrets) {
  sources sources;
  sources.file = "c.toml";
  sources.need_upstream = false;
  const auto [before, value] = GetParam();
  const auto text = std::string(before) + "\"" + std::string(value) + "\"\n";
  const auto read = load_text(text, sources);
  EXPECT_FALSE(read.ok()) << text;
  EXPECT_THAT(texts_of(read), HasSubstr("c.toml:")) << text;
  EXPECT_THAT(texts_of(read), Not(HasSubstr("SECRET"))) << text;
}

constexpr std::string_view with_all = "http://u:SECRET@host/{scope}/{key}?token=SECRET";
constexpr std::string_view with_query = "http://host/{scope}?token=SECRET";
constexpr std::string_view without_scheme = "u:SECRET@host/{scope}/{key}?token=SECRET";

constexpr std::string_view upstream = "[[upstream]]\nname = \"a\"\nurl = ";
constexpr std::string_view consumer =
    "[[consume]]\nsubscriber = \"a\"\nfrom = \"redis://h/s?group=g\"\ndead_letter = \"drop\"\nto "
    "= ";
constexpr std::string_view consumed =
    "[[consume]]\nsubscriber = \"a\"\nfrom = \"redis://h/s?group=g\"\nid = ";
constexpr std::string_view relay =
    "[[relay]]\nname = \"a\"\noutbox = \"postgresql://h/d?outbox=o\"\nto = ";

const wrong_value wrong_urls[] = {
    {"[defaults]\nprobe = ", with_all},
    {"[defaults]\nprobe = ", with_query},
    {"[defaults]\nprobe = ", without_scheme},
    {"[defaults]\nprobe = ", "http://host/{key}/{key}/{scope}?token=SECRET"},
    {"[defaults]\nprobe = ", "http://host/{scope}/{key}/{other}?token=SECRET"},
    {"[defaults]\nprobe = ", "http://u:SECRET@{key}/{scope}?token=SECRET"},
    {"[defaults]\nreplay_check = ", "http://u:SECRET@host/check?secret=SECRET"},
    {"[defaults]\nreplay_check = ", "check?secret=SECRET"},
    {"[defaults]\nreplay_check = ", "//host/check?secret=SECRET"},
    {"[defaults]\nretention = ", with_all},
    {"[defaults]\nunknown = ", with_all},
    {"[defaults]\nrequired = ", with_all},
    {"[defaults]\nmax_request_body = ", with_all},
    {"[defaults]\nmethods = [\"POST\"]\nscope = ", with_all},
    {"[defaults]\nkey = ", with_all},
    {"[gateway]\nlisten = ", "http://u:SECRET@host:80/"},
    {"[gateway]\nlisten = ", "u:SECRET@host"},
    {"[gateway]\nproblem_base = ", "u:SECRET@host?token=SECRET"},
    {"[gateway]\nproblem_base = ", "http://host/ a?token=SECRET"},
    {"[store]\ntimeout = ", "redis://:SECRET@host"},
    {"[store]\nurl = ", "http://u:SECRET@host?x=SECRET"},
    {upstream, "http://u:SECRET@host"},
    {upstream, "http://host/?token=SECRET"},
    {upstream, "u:SECRET@host/?token=SECRET"},
    {"[[route]]\nwebhook_url = ", "https://u:SECRET@host/?token=SECRET"},
    {"[[route]]\nwebhook_url = ", "u:SECRET@host/?token=SECRET"},
    {"[[route]]\nhost = ", "u:SECRET@host"},
    {"[[route]]\npath = ", "http://u:SECRET@host/a?token=SECRET"},
    {consumer, "http://u:SECRET@host/a?token=SECRET"},
    {consumer, "u:SECRET@host/a?token=SECRET"},
    {consumed, "http://u:SECRET@host/a?token=SECRET"},
    {"[[webhook]]\nname = \"a\"\nid = ", "http://u:SECRET@host/a?token=SECRET"},
    {"[[webhook]]\nname = \"a\"\nsigned = ", "http://u:SECRET@host/a?token=SECRET"},
    {relay, "http://u:SECRET@host/a?token=SECRET"},
};

INSTANTIATE_TEST_SUITE_P(every_option, refused_values, ::testing::ValuesIn(wrong_urls));

}  // namespace
}  // namespace onceguard::config
