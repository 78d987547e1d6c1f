// Fingerprints of whole requests: host, headers, packed bodies, and what their methods tell of the
// work.
#include <string>
#include <string_view>
#include <vector>
#include <zlib.h>

#include <gtest/gtest.h>

#include <onceguard/fingerprint.hpp>

#include "base/hex.hpp"
#include "core/gzip.hpp"
#include "core/lasting_mark.hpp"
#include "core/work_digests.hpp"

namespace onceguard {
namespace {

struct sent {
  std::string_view body = R"({"amount":1,"to":"ann"})";
  std::string_view type = "application/json";
  std::string_view path = "/pay";
  std::string_view query = "a=1&b=2";
  std::string_view host = "shop.test";
  std::string_view encoding{};
  std::vector<field> fields{};
  std::vector<std::string> marks{};
};

fingerprint made(const sent& request, fingerprint_rule rule = {}) {
  rule.head = fingerprint_head::named;
  fingerprint_input input{.upstream = "payments",
                          .method = "POST",
                          .path = request.path,
                          .query = request.query,
                          .content_type = request.type,
                          .body = request.body,
                          .more = request.marks};
  input.host = request.host;
  input.content_encoding = request.encoding;
  input.fields = request.fields;
  input.longest_body = 4096;
  return make_fingerprint(rule, input);
}

enum class seen { same, same_work, other_work };

seen compare(const sent& first, const sent& second, const fingerprint_rule& rule = {}) {
  const auto one = made(first, rule);
  const auto other = made(second, rule);
  if (one == other) return seen::same;
  EXPECT_NE(one.value, other.value) << "the work differs, and the fingerprint does not";
  return core::other_work(one.method, other.method) ? seen::other_work : seen::same_work;
}

std::string gzip_of(std::string_view text, unsigned long mtime) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  gz_header header{};
  header.time = mtime;
  deflateSetHeader(&stream, &header);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(named_fingerprint, host_account_and_operation_count) {
  EXPECT_EQ(compare({}, {}), seen::same);
  EXPECT_EQ(compare({}, {.host = "SHOP.test"}), seen::same);
  EXPECT_EQ(compare({}, {.host = "other.test"}), seen::same_work);
  for (const auto name :
       {"Xero-Tenant-Id", "Stripe-Account", "stripe_account", "OpenAI-Organization",
        "X-Merchant-Id", "Tenant-Id", "X-Store", "X-Shop-Id", "X-Forwarded-Host", "Stripe-Context",
        "XOrgId", "User-Id", "X_UserId", "ClientId", "X-Impersonate-User", "Sudo", "X-Act-As"}) {
    EXPECT_EQ(compare({.fields = {{name, "a"}}}, {.fields = {{name, "b"}}}), seen::same_work)
        << name;
    EXPECT_EQ(compare({}, {.fields = {{name, "b"}}}), seen::same_work) << name;
  }
  for (const auto name :
       {"SOAPAction", "X-Amz-Target", "X-HTTP-Method-Override", "X-Dry-Run", "Dry-Run",
        "x_http_method", "X-Action", "x_operation", "Action", "Operation"}) {
    EXPECT_EQ(compare({.fields = {{name, "a"}}}, {.fields = {{name, "b"}}}), seen::other_work)
        << name;
  }
  for (const auto name : {"User-Agent", "X-Request-Id", "Traceparent", "Sec-Fetch-Site", "Date",
                          "X-Stripe-Client-Telemetry", "X-Storage-Class", "Access-Control-Account",
                          "X-Operation-Id", "X-Action-Id", "Operation-Id", "X-Action-Token"}) {
    EXPECT_EQ(compare({.fields = {{name, "a"}}}, {.fields = {{name, "b"}}}), seen::same) << name;
  }
}

TEST(named_fingerprint, the_order_and_spelling_of_headers_do_not_count) {
  EXPECT_EQ(compare({.fields = {{"Tenant-Id", "a"}, {"X-Shop", "b"}}},
                    {.fields = {{"x-shop", "b"}, {"TENANT_ID", "a"}}}),
            seen::same);
}

TEST(named_fingerprint, a_rule_adds_headers_and_takes_them_out) {
  fingerprint_rule rule;
  rule.headers = {"+x-region", "-host", "-x-shop"};
  EXPECT_EQ(compare({.fields = {{"X-Region", "a"}}}, {.fields = {{"X-Region", "b"}}}, rule),
            seen::same_work);
  EXPECT_EQ(
      compare({.fields = {{"X-Shop", "a"}}}, {.host = "b.test", .fields = {{"X-Shop", "b"}}}, rule),
      seen::same);
}

TEST(named_fingerprint, other_work_shows_and_other_writing_does_not) {
  EXPECT_EQ(compare({}, {.body = R"({"amount":2,"to":"ann"})"}), seen::other_work);
  EXPECT_EQ(compare({}, {.path = "/refund"}), seen::other_work);
  EXPECT_EQ(compare({}, {.query = "a=1&b=3"}), seen::same_work);
  EXPECT_EQ(compare({}, {.query = ""}), seen::same_work);
  EXPECT_EQ(compare({}, {.query = "b=2&a=1"}), seen::same_work);
  EXPECT_EQ(compare({}, {.query = "a=%31&b=2"}), seen::same_work);
  for (const auto path :
       {"/pay/", "/%70ay", "//pay", "/./pay", "/x/../pay", "/../pay", "/pay;v=1", "/x/%2e%2E/pay",
        "/x/..;a/pay", "/x%2f..%2Fpay//", "/pay%3bv=1/.", "pay"}) {
    EXPECT_EQ(compare({}, {.path = path}), seen::same_work) << path;
  }
  for (const auto path : {"/", "/pay/..", "/pay/x", "/pay.", "/...", "/Pay", "/x;/pay", "/pay%"}) {
    EXPECT_EQ(compare({}, {.path = path}), seen::other_work) << path;
  }
  EXPECT_EQ(compare({.path = "/a/bc"}, {.path = "/ab/c"}), seen::other_work);
  EXPECT_EQ(compare({}, {.body = R"( {"to":"ann", "amount":1.0})"}), seen::same_work);
  EXPECT_EQ(compare({}, {.body = R"({"amount":1,"to":"ann","deliveryAttempt":2})"}),
            seen::same_work);
  EXPECT_EQ(compare({}, {.marks = {"cookie:sid=2"}}), seen::same_work);
  const std::string_view form = "application/x-www-form-urlencoded";
  EXPECT_EQ(compare({.body = "a=1&csrf_token=x&b=2", .type = form},
                    {.body = "b=2&a=%31&csrf_token=y", .type = form}),
            seen::same_work);
  EXPECT_EQ(compare({.body = "a=1", .type = form}, {.body = "a=2", .type = form}),
            seen::other_work);
  for (const std::string name : {"oauth_nonce", "oauth_timestamp", "oauth_signature", "nonce",
                                 "timestamp", "signature", "sign", "ts"}) {
    const auto one = "a=1&" + name + "=1";
    const auto other = name + "=2&a=1";
    EXPECT_EQ(compare({.body = one, .type = form}, {.body = other, .type = form}), seen::same_work)
        << name;
    EXPECT_EQ(compare({.body = one, .type = form}, {.body = "a=2", .type = form}), seen::other_work)
        << name;
    EXPECT_EQ(compare({.body = R"({"a":1,")" + name + R"(":1})"}, {.body = R"({"a":1})"}),
              name.starts_with("oauth_") ? seen::other_work : seen::same_work);
  }
  EXPECT_EQ(compare({.body = "a=1&b=5%", .type = form}, {.body = "b=5%&a=1", .type = form}),
            seen::same_work);
  EXPECT_EQ(compare({.body = "not JSON", .type = "application/json"}, {.body = "nor this"}),
            seen::same_work);
}

TEST(named_fingerprint, is_made_of_a_long_path_in_linear_time) {
  // Where each segment looks over all that follow it, these take many minutes.
  for (const std::string_view segment : {"a/", "//", "%2e%2e/"}) {
    std::string path = "/";
    while (path.size() < 2u << 20) path += segment;
    EXPECT_EQ(compare({.path = path}, {.path = path}), seen::same);
  }
}

TEST(named_fingerprint, the_work_is_no_finer_than_the_fingerprint) {
  fingerprint_rule without_time{fingerprint_kind::json, json_selection::omit, {"/at"}};
  fingerprint_rule amount_alone{fingerprint_kind::json, json_selection::pick, {"/amount"}};
  fingerprint_rule by_json{fingerprint_kind::json, json_selection::all, {}};
  fingerprint_rule form{fingerprint_kind::form, json_selection::all, {}};
  fingerprint_rule none{fingerprint_kind::none, json_selection::all, {}};
  const std::string spaces = R"({"amount":1)" + std::string(70'000, ' ') + "}";
  EXPECT_EQ(
      compare({.body = R"({"amount":1,"at":1})"}, {.body = R"({"amount":1,"at":2})"}, without_time),
      seen::same);
  EXPECT_EQ(
      compare({.body = R"({"amount":1,"x":1})"}, {.body = R"({"amount":1,"x":2})"}, amount_alone),
      seen::same);
  EXPECT_EQ(compare({.body = R"({"amount":1})"}, {.body = spaces}, by_json), seen::same);
  EXPECT_EQ(compare({.body = R"({"attempt":1})"}, {.body = R"({"\u0061ttempt":1})"}, by_json),
            seen::same);
  EXPECT_EQ(compare({.body = "{=1", .type = "application/x-www-form-urlencoded"},
                    {.body = "%7B=1", .type = "application/x-www-form-urlencoded"}, form),
            seen::same);
  EXPECT_EQ(compare({.body = "a"}, {.body = "b"}, none), seen::same);
  for (const auto body : {"1", R"({"amount":1})"}) {
    for (const auto type : {"text/plain", "multipart/mixed; boundary=x"}) {
      EXPECT_EQ(compare({.body = body}, {.body = body, .type = type}, by_json), seen::same) << type;
    }
  }
}

TEST(named_fingerprint, a_gzip_body_is_its_contents) {
  const std::string text = R"({"amount":1,"to":"ann"})";
  const auto early = gzip_of(text, 1);
  const auto late = gzip_of(text, 2);
  ASSERT_NE(early, late);
  EXPECT_EQ(compare({.body = early, .encoding = "gzip"}, {.body = late, .encoding = "GZIP"}),
            seen::same);
  EXPECT_EQ(compare({.body = early, .encoding = "gzip"}, {}), seen::same);
  EXPECT_EQ(compare({.body = early}, {.body = late}), seen::same_work);  // nobody says what it is
  const auto other = gzip_of(R"({"amount":2,"to":"ann"})", 1);
  EXPECT_EQ(compare({.body = early, .encoding = "gzip"}, {.body = other, .encoding = "gzip"}),
            seen::other_work);
}

TEST(named_fingerprint, nobody_knows_the_work_of_a_body_that_is_packed) {
  for (const auto encoding : {"br", "zstd", "deflate", "gzip, br", "gzip"}) {
    EXPECT_EQ(compare({.body = "a", .type = "text/plain", .encoding = encoding},
                      {.body = "b", .type = "text/plain", .encoding = encoding}),
              seen::same_work)
        << encoding;
  }
  EXPECT_EQ(compare({.body = "a", .type = "text/plain", .encoding = "identity"},
                    {.body = "b", .type = "text/plain"}),
            seen::other_work);
}

TEST(named_fingerprint, gzip_is_unpacked_to_a_limit) {
  const std::string zeros(100'000, '0');
  const auto packed = gzip_of(zeros, 1);
  EXPECT_EQ(core::gunzip(packed, zeros.size()), zeros);
  EXPECT_EQ(core::gunzip(packed, zeros.size() - 1), std::nullopt);
  EXPECT_EQ(core::gunzip(packed + packed, 2 * zeros.size()), zeros + zeros);
  EXPECT_EQ(core::gunzip(packed.substr(0, packed.size() - 1), zeros.size()), std::nullopt);
  EXPECT_EQ(core::gunzip(packed + "x", zeros.size()), std::nullopt);
  EXPECT_EQ(core::gunzip("", 10), std::nullopt);
  EXPECT_EQ(core::gunzip(gzip_of("", 1), 0), "");
  // What is longer than that is compared as it came.
  EXPECT_NE(compare({.body = packed, .encoding = "gzip"},
                    {.body = gzip_of(zeros, 2), .encoding = "gzip"}),
            seen::same);
}

TEST(named_fingerprint, a_multipart_body_is_its_parts) {
  const auto body = [](std::string_view boundary, std::string_view value) {
    const std::string line = "--" + std::string(boundary);
    return line + "\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n" + std::string(value) +
           "\r\n" + line + "--\r\n";
  };
  for (const std::string kind : {"multipart/form-data", "multipart/related", "Multipart/Mixed"}) {
    const auto x = kind + "; boundary=x";
    const auto y = kind + "; boundary=\"y\"";
    EXPECT_EQ(compare({.body = body("x", "1"), .type = x}, {.body = body("y", "1"), .type = y}),
              seen::same);
    EXPECT_EQ(compare({.body = body("x", "1"), .type = x}, {.body = body("y", "2"), .type = y}),
              seen::other_work);
  }
}

TEST(named_fingerprint, nobody_knows_the_work_of_parts_that_were_not_cut) {
  const auto within = [](std::string_view head, std::string_view boundary) {
    return "--x\r\n" + std::string(head) + "\r\n\r\n--" + std::string(boundary) +
           "\r\n\r\n1\r\n--" + std::string(boundary) + "--\r\n--x--\r\n";
  };
  const std::string_view type = "multipart/mixed; boundary=x";
  for (const auto head :
       {"Content-Type: multipart/mixed; boundary=", "A: b\r\nCONTENT-TYPE:\r\n Multipart/X"}) {
    EXPECT_EQ(compare({.body = within(head, "a"), .type = type},
                      {.body = within(head, "b"), .type = type}),
              seen::same_work)
        << head;
  }
  EXPECT_EQ(compare({.body = within("Content-Type: text/x", "a"), .type = type},
                    {.body = within("Content-Type: text/x", "b"), .type = type}),
            seen::other_work);
  for (const auto claimed : {"multipart/form-data", "Multipart/mixed; boundary=y"}) {
    EXPECT_EQ(compare({.body = "--x\r\n\r\n1\r\n--x--\r\n", .type = claimed},
                      {.body = "--z\r\n\r\n1\r\n--z--\r\n", .type = claimed}),
              seen::same_work)
        << claimed;
    EXPECT_EQ(compare({.body = "{}", .type = claimed}, {.body = "[]", .type = claimed}),
              seen::same_work)
        << claimed;
  }
}

TEST(named_fingerprint, cookies_of_balancers_and_counters_pass_by_their_whole_names) {
  for (const std::string name : {"AWSALB",
                                 "AWSALBCORS",
                                 "AWSALBTG",
                                 "AWSALBTGCORS",
                                 "AWSELB",
                                 "AWSELBCORS",
                                 "GCLB",
                                 "__cf_bm",
                                 "__cflb",
                                 "__cfruid",
                                 "_cfuvid",
                                 "cf_clearance",
                                 "_ga",
                                 "_gid",
                                 "_gat",
                                 "_gcl_au",
                                 "_fbp",
                                 "_fbc",
                                 "LB",
                                 "SERVERID",
                                 "ROUTEID",
                                 "INGRESSCOOKIE",
                                 "ARRAffinity",
                                 "ARRAffinitySameSite",
                                 "ApplicationGatewayAffinity",
                                 "ApplicationGatewayAffinityCORS",
                                 "_ga_1A2B3C",
                                 "BIGipServer~pool",
                                 "incap_ses_1_2",
                                 "visid_incap_1",
                                 "TS01a2B3",
                                 "csrftoken",
                                 "XSRF-TOKEN"}) {
    EXPECT_EQ(core::lasting_mark("cookie:" + name + "=1"), "") << name;
  }
  for (const std::string name : {"_gallery_session",
                                 "_gateway_session",
                                 "AWSELBAuthSessionCookie-0",
                                 "TS01_session",
                                 "TS01",
                                 "TS01xyz",
                                 "GCLBapp",
                                 "route",
                                 "sticky",
                                 "SRV",
                                 "my_csrf_session",
                                 "_ga_",
                                 "_ga_a",
                                 "_ga_Session",
                                 "csrf_user",
                                 "BIGipServerAuth",
                                 "visid_incap_USER",
                                 "lb",
                                 "__cf_app",
                                 "xsrf-auth"}) {
    EXPECT_EQ(core::lasting_mark("cookie:" + name + "=1"), "cookie:" + name + "=1") << name;
  }
  EXPECT_EQ(core::lasting_mark("x-xsrf-token:1"), "");
  for (const auto mark : {"x-csrf-user:1", "x-xsrf-session:1", "x-csrf-authorization:1"}) {
    EXPECT_EQ(core::lasting_mark(mark), mark);
  }
}

TEST(named_fingerprint, marks_that_change_with_each_try_do_not_count) {
  EXPECT_EQ(core::lasting_mark("cookie:sid=1; LB=aaa; AWSALB=x"), "cookie:sid=1");
  EXPECT_EQ(core::lasting_mark("cookie:_ga=1"), "");
  EXPECT_EQ(core::lasting_mark("x-csrf-token:1"), "");
  EXPECT_EQ(core::lasting_mark("x-user:ann; LB=1"), "x-user:ann; LB=1");
  EXPECT_EQ(core::lasting_mark("cookie:a=1;b=2;"), "cookie:a=1; b=2");
  EXPECT_EQ(compare({.marks = {"cookie:sid=1; LB=a"}}, {.marks = {"cookie:sid=1; LB=b"}}),
            seen::same);
  EXPECT_EQ(compare({.marks = {"cookie:sid=1"}}, {.marks = {"cookie:sid=2"}}), seen::same_work);
}

TEST(named_fingerprint, is_the_same_in_every_release) {
  const auto print = made({.fields = {{"Tenant-Id", "a"}}});
  EXPECT_EQ(print.method, "2 work=56f3dd3cd55edeb5:cd05b7762bb3ee4f exact");
  EXPECT_EQ(base::to_hex(print.value),
            "50e4509df33f249e6869a4ccd581875491184d57502f64d429fdb93f7eddd666");
}

TEST(named_fingerprint, its_rule_is_read_back) {
  fingerprint_rule rule{fingerprint_kind::json, json_selection::omit, {"/a b"}};
  rule.head = fingerprint_head::named;
  rule.headers = {"+x-region", "-host"};
  EXPECT_EQ(rule.text(), "2 +x-region -host json omit /a%20b");
  const auto parsed = fingerprint_rule::parse(made({}, rule).method);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, rule);
  for (const auto text : {"2", "2 ", "2 exac", "2 -host", "3 exact", "2 work=1:1", "2  exact"}) {
    EXPECT_FALSE(fingerprint_rule::parse(text)) << text;
  }
}

TEST(work, is_unknown_of_records_of_earlier_versions) {
  EXPECT_FALSE(core::other_work("exact", "exact"));
  EXPECT_FALSE(core::other_work("exact", made({}).method));
  EXPECT_FALSE(core::other_work("json", made({}).method));
  EXPECT_FALSE(core::other_work("2 work=x exact", "2 work=y exact"));
}

}  // namespace
}  // namespace onceguard
