// Settings that are well formed and do not do what is wanted: each has a remark, and a harmless
// file has none of them.
#include <algorithm>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.hpp"
#include "config/remark_texts.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using grade = remark::grade;

loaded read(const std::string& text) {
  sources source;
  source.file = "c.toml";
  source.flags["upstream"] = "http://127.0.0.1:9000";
  return load_text(text, source);
}

std::string route(const std::string& options, const std::string& path = "/pay") {
  return "[[route]]\npath = \"" + path + "\"\n" + options + "\n";
}

/// The weight of the remark with this text; note: there is none, or it is one.
grade weight_of(const loaded& found, const std::string& text) {
  const auto found_at =
      std::find_if(found.remarks.begin(), found.remarks.end(),
                   [&](const auto& one) { return one.message.find(text) != std::string::npos; });
  return found_at == found.remarks.end() ? grade::note : found_at->weight;
}

TEST(pitfalls, a_scope_that_differs_at_each_try_is_refused) {
  for (const auto* name : {"Date", "traceparent", "X-Amzn-Trace-Id", "b3"}) {
    const auto found = read(route("scope = \"header:" + std::string(name) + "\""));
    EXPECT_FALSE(found.ok()) << name;
    EXPECT_EQ(weight_of(found, "is another at each try"), grade::fault) << texts_of(found);
  }
  for (const auto* name : {"X-Request-Id", "X-Tenant-Request-Id", "X-B3-TraceId", "X-Nonce"}) {
    const auto found = read(route("scope = \"header:" + std::string(name) + "\""));
    EXPECT_TRUE(found.ok());
    EXPECT_EQ(weight_of(found, "may be another at each try"), grade::warning) << texts_of(found);
  }
  EXPECT_THAT(texts_of(read(route("scope = \"header:X-Tenant\""))), Not(HasSubstr("each try")));
  EXPECT_FALSE(read(route("scope = [\"credential\", \"header:Date\"]")).ok()) << "as a part of it";
}

TEST(pitfalls, a_claim_of_one_token_is_warned_of) {
  for (const auto* name : {"jti", "iat", "exp"}) {
    const auto found = read(route("scope = \"jwt:" + std::string(name) + "\""));
    EXPECT_EQ(weight_of(found, "is another in each token"), grade::warning) << texts_of(found);
  }
  EXPECT_THAT(texts_of(read(route("scope = \"jwt:sub\""))), Not(HasSubstr("each token")));
}

std::string probe(const std::string& options) {
  return route(
      "unknown = \"probe\"\nprobe_mode = \"ask\"\n"
      "probe = \"http://127.0.0.1:9/o/{scope}/{key}\"\n" +
      options);
}

TEST(pitfalls, a_probe_that_was_not_answered_says_nothing_of_the_key) {
  for (const auto* status : {"503", "500", "401", "403", "429", "301", "200"}) {
    EXPECT_FALSE(read(probe("probe_absent = \"" + std::string(status) + "\"")).ok()) << status;
  }
  for (const auto* status : {"404", "410"}) {
    const auto found = read(probe("probe_absent = \"" + std::string(status) + "\""));
    EXPECT_TRUE(found.ok()) << texts_of(found);
    EXPECT_THAT(texts_of(found), Not(HasSubstr("probe_absent")));
  }
  EXPECT_EQ(weight_of(read(probe("probe_absent = \"204\"")), "probe_absent"), grade::warning);
  EXPECT_FALSE(read(probe("probe_present = \"503\"")).ok());
  EXPECT_TRUE(read(probe("probe_present = \"200\"")).ok());
}

TEST(pitfalls, a_key_that_is_a_part_of_the_route_is_refused) {
  const auto found = read(route("key = [\"path:1\"]\nmethods = [\"PUT\"]"));
  EXPECT_FALSE(found.ok());
  EXPECT_THAT(texts_of(found), HasSubstr("all its requests have one key"));
  EXPECT_THAT(texts_of(found), HasSubstr("\"path:2\""));
  EXPECT_TRUE(read(route("key = [\"path:2\"]\nmethods = [\"PUT\"]")).ok());
  EXPECT_FALSE(read(route("key = [\"path:2\"]\nmethods = [\"PUT\"]", "/v1/pay")).ok());
  EXPECT_TRUE(read(route("key = [\"path:1\"]\nmethods = [\"PUT\"]", "/")).ok());
}

TEST(pitfalls, what_guards_nothing_is_said) {
  EXPECT_EQ(weight_of(read("[defaults]\nmethods = []\n"), "nothing is guarded"), grade::warning);
  const auto found = read(route("methods = []"));
  EXPECT_THAT(texts_of(found), HasSubstr("nothing is guarded"));
  EXPECT_EQ(weight_of(found, "nothing is guarded"), grade::note);  // it may be wanted there
  EXPECT_THAT(texts_of(read(route("methods = [\"POST\"]"))), Not(HasSubstr("nothing is guarded")));
}

TEST(pitfalls, a_path_has_no_wildcard) {
  const auto found = read(route("required = true", "/v1/*/refunds"));
  EXPECT_TRUE(found.ok());
  EXPECT_EQ(weight_of(found, "[[route]] path: \"*\" is no pattern"), grade::warning);
  EXPECT_THAT(texts_of(found), HasSubstr("take \"/v1\""));
  EXPECT_THAT(texts_of(read(route("", "/*"))), HasSubstr("take \"/\""));
  EXPECT_THAT(texts_of(read(route("", "/v1"))), Not(HasSubstr("is no pattern")));
}

TEST(pitfalls, a_pointer_has_no_wildcard) {
  const auto omit = read(route("fingerprint = \"json\"\nfingerprint_omit = [\"/items/*/date\"]"));
  EXPECT_TRUE(omit.ok());
  EXPECT_EQ(weight_of(omit, "no wildcard"), grade::warning) << texts_of(omit);
  EXPECT_FALSE(read(route("fingerprint = \"json\"\nfingerprint_pick = [\"/items/*\"]")).ok());
  EXPECT_THAT(texts_of(read(route("fingerprint = \"json\"\nfingerprint_omit = [\"/a*/b\"]"))),
              Not(HasSubstr("no wildcard")));
}

TEST(pitfalls, an_address_that_a_caller_chooses_is_warned_of) {
  const auto all = "[gateway]\ntrusted_proxies = [\"10.0.0.0/8\", \"0.0.0.0/0\"]\n";
  EXPECT_EQ(weight_of(read(all + route("scope = \"address\"")), "a caller chooses its address"),
            grade::warning);
  EXPECT_THAT(texts_of(read(all + route("scope = \"header:X-Tenant\""))),
              Not(HasSubstr("chooses its address")));
  EXPECT_THAT(texts_of(read("[gateway]\ntrusted_proxies = [\"10.0.0.0/8\"]\n" +
                            route("scope = \"address\""))),
              Not(HasSubstr("chooses its address")));
}

TEST(pitfalls, what_defaults_say_of_routes_is_not_said_of_messages) {
  const std::string consume =
      "[[consume]]\nsubscriber = \"billing\"\nfrom = \"redis://127.0.0.1/orders?group=a\"\n"
      "id = \"header:X-Id\"\nto = \"http://127.0.0.1:9/events\"\ndead_letter = "
      "\"redis://127.0.0.1/dead\"\n";
  const auto read_policy = [](const loaded& got) { return got.values.consumers.at(0); };
  const auto by_default =
      read("[defaults]\nretention = \"6h\"\noutcome = {\"5xx\" = \"release\"}\nlease = \"45s\"\n" +
           consume);
  for (const auto* option : {"retention: [defaults]", "outcome: [defaults]"}) {
    EXPECT_EQ(weight_of(by_default, option), grade::warning) << texts_of(by_default);
  }
  EXPECT_EQ(read_policy(by_default).inbox.retention, std::chrono::hours(7 * 24));
  EXPECT_TRUE(read_policy(by_default).outcome_class.empty());
  EXPECT_EQ(read_policy(by_default).inbox.lease, std::chrono::seconds(45));
  const auto own = read("[defaults]\nretention = \"30d\"\n" + consume +
                        "retention = \"6h\"\noutcome = {\"5xx\" = \"release\"}\n");
  EXPECT_THAT(texts_of(own), Not(HasSubstr("[defaults] says")));
  EXPECT_EQ(read_policy(own).inbox.retention, std::chrono::hours(6));
  EXPECT_EQ(read_policy(own).outcome_class.at(5), outcome_rule::release);
}

class shared_queue : public ::testing::Test {
 protected:
  loaded two_routes(const std::string& second_sender, const std::string& second_queue) {
    const auto secret = folder_.file("secrets");
    std::ofstream(secret) << "a secret of the tests\n";
    const auto webhook = [&](const std::string& sender, const std::string& queue) {
      return "webhook = \"" + sender + "\"\nwebhook_secret_file = \"" + secret +
             "\"\nwebhook_queue = \"redis://127.0.0.1/" + queue + "\"";
    };
    return read(route(webhook("github", "one"), "/a") +
                route(webhook(second_sender, second_queue), "/b"));
  }
  const onceguard::testing::temporary_folder folder_;
};

TEST_F(shared_queue, of_two_senders_is_warned_of) {
  const auto found = two_routes("stripe", "one");
  EXPECT_TRUE(found.ok()) << texts_of(found);
  EXPECT_EQ(weight_of(found, "go there, too"), grade::warning) << texts_of(found);
  EXPECT_THAT(texts_of(two_routes("stripe", "two")), Not(HasSubstr("go there, too")));
  EXPECT_THAT(texts_of(two_routes("github", "one")), HasSubstr("go there, too"));
}

}  // namespace
}  // namespace onceguard::config
