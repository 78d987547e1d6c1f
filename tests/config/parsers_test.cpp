#include "config/table/parsers.hpp"

#include <array>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace onceguard::config {
namespace {

TEST(duration, reads_each_unit) {
  EXPECT_EQ(parse_duration("250ms")->count(), 250);
  EXPECT_EQ(parse_duration("30s")->count(), 30'000);
  EXPECT_EQ(parse_duration("1m")->count(), 60'000);
  EXPECT_EQ(parse_duration("24h")->count(), 86'400'000);
  EXPECT_EQ(parse_duration("7d")->count(), 604'800'000);
  EXPECT_EQ(parse_duration("0s")->count(), 0);
}

TEST(duration, refuses_everything_else) {
  for (const auto* text : {"", "5", "s", "-1s", "+1s", "1.5s", "1S", "1 s", " 1s", "1s ", "1h30m",
                           "1w", "99999999999999999999x", "1s\n"}) {
    const auto read = parse_duration(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().detail.rfind("expected a duration", 0), 0U) << read.error().detail;
  }
}

TEST(duration, beyond_the_range_says_the_range) {
  for (const auto* text :
       {"9223372036854775807d", "9223372036854775808ms", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration(text).error().detail,
              "expected at most 106751991167d, got \"" + std::string(text) + '"');
  }
  EXPECT_TRUE(parse_duration("9223372036854775807ms"));
  EXPECT_EQ(parse_size("99999999999999999999").error().detail,
            "expected at most 8589934591GiB, got \"99999999999999999999\"");
}

RC_GTEST_PROP(duration, is_read_as_it_was_written, ()) {
  const milliseconds value(*rc::gen::inRange<std::int64_t>(0, 400'000'000'000));
  RC_ASSERT(*parse_duration(duration_text(value)) == value);
}

TEST(size, reads_each_unit) {
  EXPECT_EQ(*parse_size("512"), 512);
  EXPECT_EQ(*parse_size("64KiB"), 65'536);
  EXPECT_EQ(*parse_size("1MiB"), 1'048'576);
  EXPECT_EQ(*parse_size("2GiB"), 2'147'483'648);
  EXPECT_EQ(*parse_size("0"), 0);
}

TEST(size, refuses_everything_else) {
  for (const auto* text : {"", "KiB", "1KB", "1kib", "1 KiB", "-1", "1.5MiB", "0x10", "1B",
                           "9223372036854775807GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

RC_GTEST_PROP(size, is_read_as_it_was_written, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 45);
  RC_ASSERT(*parse_size(size_text(value)) == value);
}

TEST(endpoint, reads_names_and_addresses) {
  EXPECT_EQ(*parse_endpoint("127.0.0.1:8080"), (base::endpoint{"127.0.0.1", 8080}));
  EXPECT_EQ(*parse_endpoint("[::1]:0"), (base::endpoint{"::1", 0}));
  EXPECT_EQ(*parse_endpoint("localhost:65535"), (base::endpoint{"localhost", 65535}));
}

TEST(endpoint, refuses_everything_else) {
  for (const auto* text :
       {"", ":80", "localhost", "localhost:", "localhost:65536", "a:-1", "a:1x", "::1:80", "[::1]",
        "[::g]:80", "[::1]80", "a b:80", "http://a:80", "[fe80::1%eth0]:80", "a:80\n"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(http_url, reads_address_and_path) {
  const auto plain = parse_http_url("http://127.0.0.1:9000");
  EXPECT_EQ(plain->address, (base::endpoint{"127.0.0.1", 9000}));
  EXPECT_EQ(plain->path, "");
  const auto full = parse_http_url("http://[::1]/a/b?c=d");
  EXPECT_EQ(full->address, (base::endpoint{"::1", 80}));
  EXPECT_EQ(full->path, "/a/b?c=d");
}

TEST(http_url, refuses_everything_else) {
  for (const auto* text : {"", "127.0.0.1:9000", "ftp://a", "http://", "http:///x", "http://a:0",
                           "http://a:b", "http://u:p@a/", "http://a/#f", "http://a?x",
                           "http://a/ b", "http://a/\xc3\xa9", "HTTP://a"}) {
    EXPECT_FALSE(parse_http_url(text)) << text;
  }
  EXPECT_NE(parse_http_url("https://a").error().detail.find("not possible here"),
            std::string::npos);
}

TEST(web_url, is_secure_or_not) {
  EXPECT_FALSE(parse_web_url("http://a")->address.secure);
  const auto secure = parse_web_url("https://a/b");
  EXPECT_TRUE(secure->address.secure);
  EXPECT_EQ(secure->address.port, 443);
  EXPECT_EQ(parse_web_url("https://a:80")->address.port, 80);
  EXPECT_FALSE(parse_web_url("ftp://a"));
}

TEST(route_path, is_taken_in_normal_form_only) {
  EXPECT_EQ(*parse_route_path("/"), "/");
  EXPECT_EQ(*parse_route_path("/v1/payments"), "/v1/payments");
  EXPECT_EQ(*parse_route_path("/v1/"), "/v1");
  EXPECT_EQ(*parse_route_path("/a%20b"), "/a%20b");
  EXPECT_EQ(*parse_route_path("/%c3%a9/"), "/%C3%A9");
  for (const auto* text :
       {"", "v1", "/a//b", "//", "/a/./b", "/..", "/a/..", "/a?b", "/a#b", "/a b", "/a%2Fb",
        "/a%5c", "/a%00", "/%41", "/a%7e", "/a%4", "/a%zz", "/a\\b", "/\xc3\xa9"}) {
    EXPECT_FALSE(parse_route_path(text)) << text;
  }
}

TEST(route_host, is_a_name_without_port_in_lower_case) {
  EXPECT_EQ(*parse_route_host("API.Example.com"), "api.example.com");
  EXPECT_EQ(*parse_route_host("[::1]"), "[::1]");
  for (const auto* text : {"", "a:80", "[::1]:80", "::1", "a/b", "a b", "[::1", "*.a"}) {
    EXPECT_FALSE(parse_route_host(text)) << text;
  }
}

TEST(scope, reads_each_kind) {
  EXPECT_EQ(parse_scope("credential")->source, scope_source::credential);
  EXPECT_EQ(parse_scope("address")->source, scope_source::address);
  EXPECT_EQ(parse_scope("none")->source, scope_source::none);
  EXPECT_EQ(*parse_scope("header:X-Tenant"), (scope_rule{scope_source::header, "x-tenant"}));
  EXPECT_EQ(*parse_scope("cookie:Session"), (scope_rule{scope_source::cookie, "Session"}));
  EXPECT_EQ(*parse_scope("jwt:https://example.com/Tenant"),
            (scope_rule{scope_source::jwt, "https://example.com/Tenant"}));
}

TEST(scope, refuses_what_can_not_tell_callers_apart) {
  for (const auto* text :
       {"", "credentials", "header:", "header:a b", "cookie:", "cookie:a=b",
        "header:Idempotency-Key", "header:onceguard-scope", "jwt:", "jwt:a b", "jwt:a\"b"}) {
    EXPECT_FALSE(parse_scope(text)) << text;
  }
}

TEST(network, is_an_address_or_a_block) {
  for (const auto* text : {"10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "::1", "fd00::/8", "::/128"}) {
    EXPECT_TRUE(parse_network(text)) << text;
  }
  for (const auto* text : {"", "10.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "/8", "a",
                           "10.0.0.0/-1", "10.0.0.0/8x", "fe80::1%lo"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

TEST(quoted, never_passes_control_bytes_on) {
  EXPECT_EQ(config::quoted("a\"b\\c\x1b[31m\n\xff"), "\"a\\\"b\\\\c\\x1b[31m\\x0a\\xff\"");
  EXPECT_EQ(config::quoted(std::string(100, 'x')), "\"" + std::string(80, 'x') + "…\"");
}

TEST(nearest, finds_the_word_that_was_meant) {
  const std::array<std::string_view, 3> known{"listen", "lease", "drain"};
  EXPECT_EQ(nearest("listn", known), "listen");
  EXPECT_EQ(nearest("elase", known), "lease");
  EXPECT_EQ(nearest("driain", known), "drain");
  EXPECT_EQ(nearest("retention", known), "");
  EXPECT_EQ(nearest(std::string(1000, 'l'), known), "");
}

}  // namespace
}  // namespace onceguard::config
