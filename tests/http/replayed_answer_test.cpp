// What of a stored answer depends on who asks.
#include "http/replayed_answer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/field.hpp"
#include "http/settle_by_answer.hpp"
#include "support/packed.hpp"

namespace onceguard::http {
namespace {

using headers = std::vector<std::pair<std::string, std::string>>;

constexpr auto packed = testing::packed_hello;

answer_ptr stored(headers lines, std::string_view body) {
  auto out = std::make_shared<answer>();
  out->status = 201;
  out->headers = std::move(lines);
  out->body = body;
  return out;
}

std::string coding_for(std::string_view accepted, const answer_ptr& held,
                       std::size_t longest = 100) {
  const std::vector<base::field> sent{{"Accept-Encoding", accepted}};
  const auto got = answer_for(held, sent, {}, longest);
  if (got == held) return "as it is";
  EXPECT_EQ(got->headers, (headers{{"X", "1"}}));
  return got->body;
}

TEST(stored_answer, is_unpacked_for_who_does_not_accept_gzip) {
  const auto held = stored({{"Content-Encoding", "gzip"}, {"ETag", "\"1\""}, {"X", "1"}}, packed);
  for (const auto accepted : {"gzip", "br, GZIP;q=0.5", "*", "x-gzip", "identity, *;q=0.1"}) {
    EXPECT_EQ(coding_for(accepted, held), "as it is") << accepted;
  }
  for (const auto accepted : {"", "br", "identity", "gzip;q=0", "gzip; q=0.0, *", "*;q=0",
                              "gzip;Q=0", "gzip ; x=1 ;Q=0.00;y", "X-GZIP;Q=0, *"}) {
    EXPECT_EQ(coding_for(accepted, held), "hello") << accepted;
  }
  EXPECT_EQ(answer_for(held, {}, {}, 100), held);
  const headers varies{{"Content-Encoding", "gzip"}, {"Vary", "Origin, Accept-Encoding"}};
  EXPECT_EQ(answer_for(stored(varies, packed), {}, {}, 100)->body, "hello");
  EXPECT_EQ(coding_for("br", held, 4), "as it is");
  EXPECT_EQ(coding_for("br", stored({{"Content-Encoding", "zstd"}}, packed)), "as it is");
}

std::string origin_for(std::string_view origin, headers lines, const route_policy& policy = {}) {
  const std::vector<base::field> sent{{"Origin", origin}};
  const auto got = answer_for(stored(std::move(lines), "x"), sent, policy, 100);
  for (const auto& [name, value] : got->headers) {
    if (name == "Access-Control-Allow-Origin") return value;
  }
  return "none";
}

TEST(stored_answer, tells_no_origin_that_another_may_read_it) {
  const headers reflected{{"Access-Control-Allow-Origin", "https://a.test"},
                          {"Access-Control-Allow-Credentials", "true"}};
  EXPECT_EQ(origin_for("https://a.test", reflected), "https://a.test");
  EXPECT_EQ(origin_for("https://b.test", reflected), "none");
  EXPECT_EQ(origin_for("https://b.test", {{"Access-Control-Allow-Origin", "*"}}), "*");
  route_policy policy;
  policy.cors = {"https://b.test"};
  EXPECT_EQ(origin_for("https://b.test", reflected, policy), "https://a.test");
}

TEST(stored_answer, has_what_it_is_chosen_by_when_the_request_is_gone) {
  const std::vector<base::field> sent{
      {"Host", "a"}, {"origin", "https://b.test"}, {"ACCEPT-ENCODING", "br"}, {"Accept", "*/*"}};
  EXPECT_EQ(fields_for_replay(sent),
            (headers{{"origin", "https://b.test"}, {"ACCEPT-ENCODING", "br"}}));
}

settle_terms settled(std::string_view target, std::string_view location,
                     std::uint16_t status = 307) {
  answer made;
  made.status = status;
  made.headers = {{"Location", std::string(location)}};
  made.body = "moved";
  settle_terms out;
  settle_redirect(target, "shop.test", made, out);
  return out;
}

TEST(redirect, that_leads_back_releases) {
  EXPECT_EQ(settled("/pay?a=1", "https://shop.test/pay?a=1").kind, settle_kind::release);
  EXPECT_EQ(settled("/pay", "/pay", 308).kind, settle_kind::release);
  EXPECT_EQ(settled("/pay", "/pay", 302).kind, settle_kind::complete);  // the work may be done
  EXPECT_EQ(settled("/pay", "https://other.test/pay").kind, settle_kind::complete);
  EXPECT_EQ(settled("/pay", "/pay/").kind, settle_kind::complete);
}

TEST(redirect, is_kept_at_least_without_its_body) {
  const auto out = settled("/pay", "/pay/");
  ASSERT_NE(out.answer, nullptr);
  EXPECT_EQ(out.kept, answer_kept::status_only);
  EXPECT_EQ(out.answer->body, "");
  EXPECT_EQ(settled("/pay", "/pay/", 303).answer, nullptr);
}

}  // namespace
}  // namespace onceguard::http
