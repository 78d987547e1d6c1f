// What an answer says of its operation.
#include "http/settle_by_answer.hpp"

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "http/outcome_in_answer.hpp"
#include "http/proxy_sign.hpp"

namespace onceguard::http {
namespace {

using fields = std::vector<base::field>;

settle_kind settled_by(const route_policy& policy, std::uint16_t status, const fields& headers,
                       std::optional<std::string_view> body = std::nullopt,
                       bool lacks_name = false) {
  settle_terms terms;
  const auto proxy = sign_of_another(status, headers, lacks_name, body);
  settle_by_answer(policy, {status, headers, body, proxy}, terms);
  EXPECT_EQ(terms.why_status, status);
  return terms.kind;
}

TEST(outcome, a_503_of_a_mesh_says_nothing_unless_the_route_says_what) {
  route_policy policy;
  const fields other{{"Server", "nginx"}};
  const fields mesh{{"Content-Type", "text/plain"}, {"server", "envoy"}};
  const fields istio{{"Server", "Istio-Envoy"}, {"Retry-After", ""}};
  const fields later{{"Retry-After", "1"}, {"Server", "envoy"}};
  EXPECT_EQ(settled_by(policy, 503, {}), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 503, other), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 503, {{"Server", "envoyage"}}), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::abandon);
  EXPECT_EQ(settled_by(policy, 503, istio), settle_kind::abandon);
  EXPECT_EQ(settled_by(policy, 503, later), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 501, mesh), settle_kind::abandon);
  EXPECT_EQ(settled_by(policy, 400, mesh), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 200, mesh), settle_kind::complete);
  policy.keep = keep_rule::all;
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::complete);
  policy.keep = keep_rule::final;
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::abandon);
  policy.outcome_status[500] = outcome_rule::release;
  policy.outcome_class[4] = outcome_rule::release;
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::abandon);
  policy.outcome_status[503] = outcome_rule::release;
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::release);
  policy.outcome_status.clear();
  policy.outcome_class[5] = outcome_rule::release;
  EXPECT_EQ(settled_by(policy, 503, mesh), settle_kind::release);
}

TEST(outcome, what_a_proxy_may_have_made_says_nothing) {
  const std::vector<fields> proxies{
      {{"X-Varnish", "5"}, {"Retry-After", "5"}, {"Server", "Varnish"}},
      {{"Via", "1.1 varnish (Varnish/7.1)"}},
      {{"x-served-by", "cache-fra1"}},
      {{"X-Cache", "MISS"}},
      {{"CF-RAY", "8"}},
      {{"Apigw-Requestid", "1"}},
      {{"Server", "cloudflare"}},
      {{"Server", "Cowboy"}},
      {{"Server", "Google Frontend"}},
      {{"Server", "ATS/9.2.3"}},
      {{"Server", "Apache/2.4.57 (Debian)"}}};
  const std::vector<std::uint16_t> said_late{503, 501, 408};
  const std::vector<std::uint16_t> said_before{400, 402, 403, 404, 429};
  const std::vector<fields> services{{{"Server", "nginx/1.22.1"}},      {{"Server", "Caddy"}},
                                     {{"Server", "Apache-Coyote/1.1"}}, {{"Server", "awselb/2.0"}},
                                     {{"Server", "uvicorn"}},           {{"Viable", "1"}}};
  for (const auto& headers : proxies) {
    for (const std::uint16_t status : said_late) {
      EXPECT_EQ(settled_by({}, status, headers), settle_kind::abandon) << headers[0].name;
    }
    for (const std::uint16_t status : said_before) {
      EXPECT_EQ(settled_by({}, status, headers), settle_kind::release) << headers[0].name;
    }
    EXPECT_EQ(settled_by({}, 201, headers), settle_kind::complete);
  }
  for (const auto& headers : services) {
    EXPECT_EQ(settled_by({}, 503, headers), settle_kind::release) << headers[0].value;
  }
  route_policy own;
  own.outcome_status[408] = outcome_rule::release;
  EXPECT_EQ(settled_by(own, 408, proxies[0]), settle_kind::release);
  EXPECT_EQ(settled_by(own, 503, proxies[0]), settle_kind::abandon);
}

TEST(outcome, a_service_that_always_names_itself_is_missed) {
  server_naming naming;
  const fields named{{"Server", "uvicorn"}};
  EXPECT_FALSE(naming.lacks_name({}));
  naming.note(404, named);
  EXPECT_FALSE(naming.lacks_name({})) << "a refusal may be anybody's";
  naming.note(201, named);
  EXPECT_TRUE(naming.lacks_name({}));
  EXPECT_FALSE(naming.lacks_name(named));
  EXPECT_EQ(settled_by({}, 503, {}, "gone", true), settle_kind::abandon);
  EXPECT_EQ(settled_by({}, 503, {}, std::nullopt, true), settle_kind::abandon);
  EXPECT_EQ(settled_by({}, 404, {}, "gone", true), settle_kind::release);
  const auto haproxy =
      "<html><body><h1>503 Service Unavailable</h1>\n"
      "No server is available to handle this request.\n</body></html>\n";
  EXPECT_EQ(settled_by({}, 503, {}, haproxy, true), settle_kind::release);
  EXPECT_EQ(settled_by({}, 503, {}, "no available server\n", true), settle_kind::release);
  EXPECT_EQ(settled_by({}, 503, {{"Via", "1"}}, haproxy), settle_kind::abandon);
  naming.note(200, {});
  EXPECT_FALSE(naming.lacks_name({}));
  naming.note(200, named);
  EXPECT_FALSE(naming.lacks_name({})) << "several services are behind one route";
}

TEST(outcome, the_service_has_the_last_word) {
  route_policy policy;
  policy.outcome_status[200] = outcome_rule::fail;
  policy.outcome_parts = {{false, "x-state", "", outcome_rule::fail}};
  const auto kind = [&](std::uint16_t status, const fields& headers) {
    return settled_by(policy, status, headers);
  };
  EXPECT_EQ(kind(200, {{"Onceguard-Outcome", "done"}, {"X-State", "1"}}), settle_kind::complete);
  EXPECT_EQ(kind(500, {{"onceguard-outcome", " None "}}), settle_kind::release);
  EXPECT_EQ(kind(404, {{"Onceguard-Outcome", "unknown"}}), settle_kind::abandon);
  EXPECT_EQ(kind(404, {{"Onceguard-Outcome", "nothing"}}), settle_kind::abandon);
  EXPECT_EQ(kind(404, {{"Onceguard-Outcome", ""}}), settle_kind::abandon);
  EXPECT_EQ(kind(404, {{"Onceguard-Outcome", "none"}, {"Onceguard-Outcome", "none"}}),
            settle_kind::release);
  EXPECT_EQ(kind(404, {{"Onceguard-Outcome", "none"}, {"Onceguard-Outcome", "done"}}),
            settle_kind::abandon);
  EXPECT_EQ(kind(503, {{"X-Varnish", "1"}, {"Onceguard-Outcome", "none"}}), settle_kind::release);
  EXPECT_EQ(kind(404, {{"Onceguard_Outcome", "done"}}), settle_kind::release);
}

TEST(outcome, a_header_of_the_answer_counts_before_its_status) {
  route_policy policy;
  policy.outcome_parts = {{false, "grpc-status", "", outcome_rule::unknown},
                          {false, "grpc-status", "0", outcome_rule::complete},
                          {false, "grpc-status", "14", outcome_rule::release}};
  EXPECT_EQ(settled_by(policy, 200, {{"Grpc-Status", "0"}}), settle_kind::complete);
  EXPECT_EQ(settled_by(policy, 200, {{"Grpc-Status", "14"}}), settle_kind::release);
  EXPECT_EQ(settled_by(policy, 200, {{"Grpc-Status", "13"}}), settle_kind::abandon);
  EXPECT_EQ(settled_by(policy, 404, {}), settle_kind::release);
  policy.outcome_parts = {{false, "cache-control", "no-store", outcome_rule::fail}};
  EXPECT_EQ(settled_by(policy, 200, {{"Cache-Control", "private, No-Store"}}), settle_kind::fail);
  EXPECT_EQ(settled_by(policy, 200, {{"Cache-Control", "private"}}), settle_kind::complete);
}

TEST(outcome, the_json_of_the_answer_counts_before_its_status) {
  route_policy policy;
  policy.outcome_parts = {{true, "/errors", "", outcome_rule::unknown},
                          {true, "/error/code", "-32601", outcome_rule::release},
                          {true, "/ok", "false", outcome_rule::fail}};
  const auto says = [&](std::string_view body, const fields& headers = {}) {
    return settled_by(policy, 200, headers, body);
  };
  EXPECT_EQ(says(R"({"data":{"pay":1}})"), settle_kind::complete);
  EXPECT_EQ(says(R"({"errors":[{"message":"no"}]})"), settle_kind::abandon);
  for (const auto* nothing : {"null", "false", "[]", "{}", "\"\""}) {
    EXPECT_EQ(says(std::string("{\"errors\":") + nothing + "}"), settle_kind::complete) << nothing;
  }
  EXPECT_EQ(says(R"({"errors":0})"), settle_kind::abandon);
  EXPECT_EQ(says(R"({"error":{"code":-32601},"errors":[1]})"), settle_kind::release)
      << "a rule with a value goes first";
  EXPECT_EQ(says(R"({"error":{"code":-32603}})"), settle_kind::complete);
  EXPECT_EQ(says(R"({"ok":false})"), settle_kind::fail);
  EXPECT_EQ(says("not JSON"), settle_kind::complete);
  EXPECT_EQ(says(R"({"errors":[1],"errors":[]})"), settle_kind::complete);
  EXPECT_EQ(says(R"({"errors":[1]})", {{"Content-Encoding", "gzip"}}), settle_kind::complete);
  EXPECT_EQ(says(R"({"errors":[1]})", {{"Content-Encoding", "identity"}}), settle_kind::abandon);
  EXPECT_EQ(settled_by(policy, 200, {}), settle_kind::complete);
  EXPECT_TRUE(reads_answers(policy));
  policy.outcome_parts = {{false, "a", "", outcome_rule::fail}};
  EXPECT_FALSE(reads_answers(policy));
}

TEST(outcome, no_number_and_no_mark_of_the_encoding_switches_rules_on_json_off) {
  route_policy policy;
  policy.outcome_parts = {{true, "/errors", "", outcome_rule::release},
                          {true, "/id", "9007199254740993", outcome_rule::fail},
                          {true, "/rate", "0.1", outcome_rule::unknown}};
  const auto says = [&](std::string_view body) { return settled_by(policy, 200, {}, body); };
  for (const auto* number :
       {"9007199254740993", "18446744073709551615", "0.12345678901234567890", "1e999", "-0"}) {
    const auto body = R"({"errors":[{"message":"no"}],"data":)" + std::string(number) + "}";
    EXPECT_EQ(says(body), settle_kind::release) << number;
  }
  EXPECT_EQ(says("\xef\xbb\xbf{\"errors\":[1]}"), settle_kind::release);
  EXPECT_EQ(says("\xef\xbb\xbf\xef\xbb\xbf{\"errors\":[1]}"), settle_kind::complete);
  EXPECT_EQ(says("\xef\xbb\xbf"), settle_kind::complete);
  EXPECT_EQ(says(R"({"errors":12345678901234567890})"), settle_kind::release);
  EXPECT_EQ(says(R"({"id":9007199254740993})"), settle_kind::fail);
  EXPECT_EQ(says(R"({"id":9007199254740992})"), settle_kind::complete);
  EXPECT_EQ(says(R"({"rate":0.1})"), settle_kind::abandon);
  EXPECT_EQ(says(R"({"rate":1.0e-1})"), settle_kind::abandon);
  EXPECT_EQ(says(R"({"rate":"0.1"})"), settle_kind::abandon);
  EXPECT_EQ(says(R"({"rate":0.10000000000000000001})"), settle_kind::complete);
}

TEST(outcome, a_redirect_to_itself_releases_unless_more_was_said) {
  route_policy policy;
  const auto settled = [&](const fields& headers) {
    settle_terms out;
    const bool by_rule = settle_by_answer(policy, {307, headers, std::nullopt}, out);
    answer kept;
    kept.status = 307;
    kept.headers = {{"Location", "/pay"}};
    settle_redirect("/pay", "shop.test", kept, out, by_rule);
    return out.kind;
  };
  EXPECT_EQ(settled({}), settle_kind::release);
  EXPECT_EQ(settled({{"Onceguard-Outcome", "done"}}), settle_kind::complete);
  EXPECT_EQ(settled({{"Onceguard-Outcome", "none"}}), settle_kind::release);
  EXPECT_EQ(settled({{"Onceguard-Outcome", "unknown"}}), settle_kind::abandon);
  policy.keep = keep_rule::all;
  EXPECT_EQ(settled({}), settle_kind::release);
  policy.outcome_class[3] = outcome_rule::complete;
  EXPECT_EQ(settled({}), settle_kind::complete);
  policy.outcome_class.clear();
  policy.outcome_parts = {{false, "x-paid", "", outcome_rule::complete}};
  EXPECT_EQ(settled({}), settle_kind::release);
  EXPECT_EQ(settled({{"X-Paid", "yes"}}), settle_kind::complete);
}

}  // namespace
}  // namespace onceguard::http
