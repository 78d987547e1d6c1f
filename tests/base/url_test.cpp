#define BOOST_URL_NO_LIB
#include "base/url.hpp"

#include <string>

#include <boost/url/authority_view.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/src.hpp>
#include <gtest/gtest.h>

namespace onceguard::base {
namespace {

/// Calls `visit` with each text of `length` characters out of `letters`.
template <class Visit>
void each_text(std::string_view letters, std::size_t length, const Visit& visit) {
  std::string text(length, letters.front());
  std::string digits(length, '\0');
  for (;;) {
    visit(text);
    std::size_t i = 0;
    while (i < length && ++digits[i] == static_cast<char>(letters.size())) digits[i++] = 0;
    if (i == length) return;
    for (std::size_t j = 0; j <= i; ++j) text[j] = letters[static_cast<std::size_t>(digits[j])];
  }
}

TEST(url, is_cut_where_boost_url_cuts_it) {
  std::size_t accepted = 0;
  const auto compare = [&](const std::string& text) {
    const auto parts = split_url(text);
    // Boost.URL 1.81 fails an assertion of its own at "a:?".
    if (!parts.scheme.empty() && !parts.authority && parts.path.empty()) return;
    // It drops what stands behind a port, as in "//a:1x".
    if (parts.authority && boost::urls::parse_authority(*parts.authority).has_error()) return;
    const auto oracle = boost::urls::parse_uri_reference(text);
    if (oracle.has_error()) return;
    ++accepted;
    const auto& right = oracle.value();
    ASSERT_EQ(parts.scheme, right.scheme()) << text;
    ASSERT_EQ(parts.authority.has_value(), right.has_authority()) << text;
    ASSERT_EQ(parts.authority.value_or(""), right.encoded_authority()) << text;
    ASSERT_EQ(parts.path, right.encoded_path()) << text;
    ASSERT_EQ(parts.query.has_value(), right.has_query()) << text;
    ASSERT_EQ(parts.query.value_or(""), right.encoded_query()) << text;
    ASSERT_EQ(parts.fragment.has_value(), right.has_fragment()) << text;
    ASSERT_EQ(parts.fragment.value_or(""), right.encoded_fragment()) << text;
  };
  for (std::size_t length = 1; length <= 7; ++length) each_text("a1:/?#@", length, compare);
  for (const std::string rest : {"", "/", "?q", "#f", "/p?q#f", "/p//q/..?a?b#c/d?e"}) {
    for (const std::string host : {"h", "h:80", "[::1]:8", "u:p@h", ""}) {
      compare("http://" + host + rest);
    }
  }
  EXPECT_GT(accepted, 100'000u);
}

TEST(url, may_be_a_scheme_and_a_query_alone) {
  const auto parts = split_url("a:?q#f");
  EXPECT_EQ(parts.scheme, "a");
  EXPECT_EQ(parts.path, "");
  EXPECT_EQ(parts.query, "q");
  EXPECT_EQ(parts.fragment, "f");
}

TEST(url, that_is_none_is_a_path) {
  for (const std::string_view text : {"", "a", "1http:x", ":x", "a b:c", "*", "_x://h/p"}) {
    const auto parts = split_url(text);
    EXPECT_EQ(parts.scheme, "") << text;
    EXPECT_EQ(parts.path, text);
    EXPECT_FALSE(parts.authority) << text;
  }
}

TEST(url, in_a_text_is_shown_up_to_its_authority) {
  EXPECT_EQ(before_authority("--store=postgresql://user:secret@h/d"), "--store=postgresql://");
  EXPECT_EQ(before_authority("1://secret"), "1://");
  EXPECT_EQ(before_authority("keys"), "keys");
}

}  // namespace
}  // namespace onceguard::base
