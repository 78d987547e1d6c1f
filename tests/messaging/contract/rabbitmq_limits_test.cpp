// RabbitMQ's own limit of deliveries, as its management API tells it.
#include <gtest/gtest.h>

#include "consume/dead_letter_box.hpp"
#include "messaging/broker_kind.hpp"
#include "messaging/rabbitmq/management.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing::rabbitmq {
namespace {

using messaging::rabbitmq::facts_in;

/// 0: there is no limit.
std::uint64_t limit_in(const std::string& members, std::string_view version = "3.13.7") {
  const auto facts = facts_in("{\"type\":\"quorum\"," + members + "}", version);
  return facts ? facts->redeliveries_max.value_or(0) : 4'711;
}

TEST(rabbitmq_limits, argument_and_policies_are_joined_as_rabbitmq_does_it) {
  const std::string argument = R"("arguments":{"x-delivery-limit":)";
  const std::string nothing = R"(,"effective_policy_definition":[])";
  const std::string policy = R"("effective_policy_definition":{"delivery-limit":)";
  EXPECT_FALSE(facts_in(R"({"type":"quorum","arguments":{}})", "4.0.1")->is_complete);
  EXPECT_EQ(limit_in(R"("arguments":{},"effective_policy_definition":[])"), 0u);
  EXPECT_EQ(limit_in(R"("arguments":{},"effective_policy_definition":{})", "4.0.1"), 20u);
  EXPECT_EQ(limit_in(argument + "7}" + nothing, "4.0.1"), 7u);
  EXPECT_EQ(limit_in(R"("arguments":{},)" + policy + "5}"), 5u);
  EXPECT_EQ(limit_in(argument + "7}," + policy + "5}"), 5u);
  EXPECT_EQ(limit_in(argument + "3}," + policy + "5}"), 3u);
  EXPECT_EQ(limit_in(argument + "-1}" + nothing, "4.1.0"), 0u) << "taken away";
  EXPECT_EQ(limit_in(argument + "-1}," + policy + "5}", "4.1.0"), 5u);
  EXPECT_EQ(limit_in(argument + "\"7\"}" + nothing, "4.1.0"), 20u) << "no number";
}

TEST(rabbitmq_limits, a_queue_that_does_not_count_has_none) {
  const auto* const classic =
      R"({"type":"classic","arguments":{"x-delivery-limit":3},"effective_policy_definition":{}})";
  EXPECT_FALSE(facts_in(classic, "4.0.0")->redeliveries_max.has_value());
  for (const auto* other : {"", "[]", "{}", "<html>", "{\"arguments\""}) {
    EXPECT_FALSE(facts_in(other, "4.0.0").has_value()) << other;
  }
}

class rabbitmq_managed : public ::testing::Test {
 protected:
  static const rabbitmq_server& server() {
    static const rabbitmq_server one(
        "{collect_statistics_interval, 200}, {quorum_tick_interval, 200}", "rabbitmq_management");
    return one;
  }
  static std::string quorum(const std::string& name, const rabbitmq_session::numbers& more = {}) {
    server().session().declare_queue(name, {{"x-queue-type", "quorum"}}, more);
    return server().url(name) + "?" + server().management();
  }
  static messaging::broker_params at(const std::string& url) {
    messaging::broker_params out;
    out.url = url;
    return out;
  }
  /// RabbitMQ tells the policies of a queue only seconds after it was made.
  static result<messaging::consumer_traits> traits_of(const std::string& url) {
    for (;;) {
      auto found = messaging::examine_queue(at(url));
      if (found) return (*found)->traits;
      if (found.error().code != errc::broker_unreachable) return found.error();
    }
  }
};

TEST_F(rabbitmq_managed, the_limit_of_a_queue_and_of_its_policy_is_read) {
  const auto none = quorum("none");
  const auto argument = quorum("argument", {{"x-delivery-limit", 3}});
  server().control({"set_policy", "low", "^policy$", R"({"delivery-limit":2})"});
  const auto by_policy = traits_of(quorum("policy")).value();
  EXPECT_EQ(traits_of(none).value().deliveries_max, 0u);
  EXPECT_EQ(traits_of(argument).value().deliveries_max, 4u);
  EXPECT_EQ(by_policy.deliveries_max, 3u);
  EXPECT_NE(by_policy.limit_name.find("delivery-limit 2"), std::string::npos);
  EXPECT_TRUE(by_policy.limit_known);
}

TEST_F(rabbitmq_managed, without_the_api_nothing_is_claimed_to_be_known) {
  static_cast<void>(quorum("plain", {{"x-delivery-limit", 3}}));
  const auto found = messaging::examine_queue(at(server().url("plain")));
  ASSERT_TRUE(found.has_value()) << found.error().detail;
  EXPECT_FALSE((*found)->traits.limit_known);
  ASSERT_EQ((*found)->weaknesses.size(), 1u);
  EXPECT_NE((*found)->weaknesses[0].second.find("management="), std::string::npos);
}

TEST_F(rabbitmq_managed, a_look_takes_nothing) {
  const auto url = quorum("looked", {{"x-delivery-limit", 3}});
  auto session = server().session();
  session.publish("looked", {});
  EXPECT_EQ(traits_of(url).value().deliveries_max, 4u);
  const auto reader = messaging::open_consumer(at(url)).value();
  const auto got = reader->receive(1, milliseconds(20'000)).value();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].count, 1u);
}

TEST_F(rabbitmq_managed, looking_at_dead_letters_often_loses_none) {
  consume::consume_params params;
  params.subscriber = "billing";
  params.dead_letter_queue = quorum("letters", {{"x-delivery-limit", 4}});
  server().session().publish("letters", {});
  EXPECT_EQ(traits_of(params.dead_letter_queue).value().deliveries_max, 5u);
  for (int i = 0; i < 9; ++i) {
    auto box = consume::dead_letter_box::open(params, 10).value();
    EXPECT_EQ(box.read(milliseconds(300)).value().size(), 1u) << i;
    const auto back = box.put_back();
    EXPECT_TRUE(back.has_value()) << back.error().detail;
  }
}

TEST_F(rabbitmq_managed, a_wrong_login_is_refused_and_not_repeated) {
  static_cast<void>(quorum("login"));
  const auto url = server().url("login") + "?" + server().management("guest:s3cret@");
  const auto why = messaging::open_consumer(at(url)).error();
  EXPECT_EQ(why.code, errc::conflict) << why.detail;
  EXPECT_NE(why.detail.find("refuses the login"), std::string::npos) << why.detail;
  EXPECT_EQ(why.detail.find("s3cret"), std::string::npos) << why.detail;
  const auto nobody = server().url("login") + "?management=http://127.0.0.1:9";
  EXPECT_EQ(messaging::open_consumer(at(nobody)).error().code, errc::broker_unreachable);
  EXPECT_EQ(messaging::open_consumer(at(server().url("login") + "?management=here")).error().code,
            errc::invalid_argument);
}

TEST_F(rabbitmq_managed, dead_letters_without_an_exchange_are_refused) {
  const auto url = quorum("undead") + "&dead_letters=yes";
  const auto why = traits_of(url).error();
  EXPECT_EQ(why.code, errc::invalid_argument);
  EXPECT_NE(why.detail.find("no dead-letter exchange"), std::string::npos) << why.detail;
  server().control({"set_policy", "dead", "^undead$", R"({"dead-letter-exchange":""})"});
  wait_until("the policy", [&] { return messaging::open_consumer(at(url)).has_value(); });
}

}  // namespace
}  // namespace onceguard::testing::rabbitmq
