// Ids of messages: where they stand, what makes two messages the same, and what is no id.
#include "consume/message_id.hpp"

#include <gtest/gtest.h>

namespace onceguard::testing {
namespace {

using consume::parse_id_rule;
using messaging::message;

std::string id_by(const std::string& rule, const message& received) {
  const auto id = consume::id_of(parse_id_rule(rule).value(), received);
  return id ? *id : "none: " + id.error().detail;
}

message with_headers(std::vector<messaging::attribute> headers, std::string payload = "{}") {
  message out;
  out.payload = std::move(payload);
  out.headers = std::move(headers);
  return out;
}

bool is_none(const std::string& id, const std::string& why) {
  return id.starts_with("none: ") && id.find(why) != id.npos;
}

TEST(message_id, what_is_there_twice_is_no_id) {
  const auto twice = with_headers({{"event-id", "a"}, {"Event-Id", "b"}}, R"({"id":1,"id":2})");
  EXPECT_TRUE(is_none(id_by("header:event-id", twice), "\"event-id\" is there twice"));
  EXPECT_TRUE(is_none(id_by("json:/id", twice), "no JSON that every reader understands alike"));
  message properties;
  properties.properties = {{"message_id", "a"}, {"message_id", "a"}};
  EXPECT_TRUE(is_none(id_by("property:message_id", properties), "is there twice"));
  EXPECT_TRUE(is_none(id_by("header:x", with_headers({})), "there is no header \"x\""));
}

TEST(message_id, several_parts_make_one_id_without_doubt_about_their_borders) {
  const std::string rule = "{header:tenant}|{json:/id}";
  EXPECT_EQ(id_by(rule, with_headers({{"tenant", "a"}}, R"({"id":"b|c"})")), "a|b|c");
  EXPECT_TRUE(is_none(id_by(rule, with_headers({{"tenant", "a|b"}}, R"({"id":"c"})")),
                      "holds the \"|\" that ends it"));
  EXPECT_TRUE(is_none(id_by(rule, with_headers({}, R"({"id":"c"})")), "no header \"tenant\""));
  EXPECT_TRUE(is_none(id_by(rule, with_headers({{"tenant", ""}}, R"({"id":"c"})")), "is empty"));
  EXPECT_TRUE(is_none(id_by(rule, with_headers({{"tenant", "a"}}, R"({"id":""})")), "is empty"));
  EXPECT_EQ(id_by("x-{property:message_id}", {"", {}, {{"message_id", "1"}}, ""}), "x-1");
}

TEST(message_id, a_rule_that_can_not_be_right_says_why) {
  const auto fault = [](const char* rule) {
    const auto read = parse_id_rule(rule);
    return read ? std::string("right") : read.error().detail;
  };
  EXPECT_NE(fault("{header:a}{header:b}").find("a text between them"), std::string::npos);
  EXPECT_NE(fault("{header:a").find("a } is missing"), std::string::npos);
  EXPECT_NE(fault("{body}").find("cloudevents"), std::string::npos);
  EXPECT_NE(fault("{json:id}").find("slash"), std::string::npos);
  EXPECT_EQ(fault("cloudevents"), "right");
}

// --- CloudEvents

constexpr const char* event =
    R"({"specversion":"1.0","type":"t","source":"/shops/a","id":"1","data":{}})";

message structured(std::string type, std::string payload) {
  message out;
  out.payload = std::move(payload);
  out.properties.emplace_back("content_type", std::move(type));
  return out;
}

TEST(message_id, an_event_is_its_source_and_its_id_in_every_mode_and_protocol) {
  EXPECT_EQ(id_by("cloudevents", structured("application/cloudevents+json", event)), "/shops/a|1");
  EXPECT_EQ(
      id_by("cloudevents",
            with_headers({{"Content-Type", "application/cloudevents+json; charset=utf-8"}}, event)),
      "/shops/a|1");
  EXPECT_EQ(id_by("cloudevents", with_headers({}, event)), "/shops/a|1") << "no content type";
  for (const std::string prefix : {"ce-", "ce_", "Ce-", "cloudEvents:", "cloudEvents_", ""}) {
    const auto id = id_by("cloudevents", with_headers({{prefix + "specversion", "1.0"},
                                                       {prefix + "source", "/shops/b"},
                                                       {prefix + "id", "1"}}));
    EXPECT_EQ(id, "/shops/b|1") << prefix;
  }
}

TEST(message_id, two_sources_never_have_the_same_id) {
  const auto id = [](const char* source, const char* own) {
    return id_by("cloudevents", with_headers({{"ce-source", source}, {"ce-id", own}}));
  };
  EXPECT_NE(id("/a", "1"), id("/b", "1"));
  EXPECT_NE(id("/a|b", "1"), id("/a", "b|1")) << "a source with the separator in it";
  EXPECT_NE(id(("/" + std::string(300, 'a')).c_str(), "1"),
            id(("/" + std::string(300, 'a')).c_str(), "2"));
  EXPECT_LE(id(("/" + std::string(300, 'a')).c_str(), "1").size(), 255u);
}

TEST(message_id, an_event_with_two_ids_is_none) {
  EXPECT_TRUE(is_none(
      id_by("cloudevents", with_headers({{"ce-source", "/a"}, {"ce-id", "1"}, {"CE-Id", "2"}})),
      "\"CE-Id\" is there twice"));
  EXPECT_TRUE(is_none(
      id_by(
          "cloudevents",
          with_headers({{"ce-source", "/a"}, {"ce-id", "1"}, {"ce_source", "/b"}, {"ce_id", "1"}})),
      "two events"));
  EXPECT_TRUE(
      is_none(id_by("cloudevents", with_headers({{"ce-id", "1"}})), "ce-source is missing"));
  EXPECT_TRUE(is_none(id_by("cloudevents", with_headers({{"ce-source", ""}, {"ce-id", "1"}})),
                      "its source is empty"));
  EXPECT_TRUE(is_none(id_by("cloudevents", with_headers({{"id", "1"}, {"source", "/a"}})),
                      "neither the headers of one"))
      << "headers of something else";
  EXPECT_TRUE(is_none(
      id_by("cloudevents", structured("application/cloudevents+json",
                                      R"({"specversion":"1.0","source":"/a","id":"1","id":"2"})")),
      "every reader understands alike"));
}

TEST(message_id, a_batch_of_one_is_an_event_and_one_of_several_is_refused) {
  const std::string one = event;
  const std::string type = "application/cloudevents-batch+json";
  EXPECT_EQ(id_by("cloudevents", structured(type, "[" + one + "]")), "/shops/a|1");
  EXPECT_TRUE(is_none(id_by("cloudevents", structured(type, "[" + one + "," + one + "]")),
                      "a batch of several events"));
  EXPECT_TRUE(is_none(id_by("cloudevents", structured(type, "[]")), "no specversion"));
}

}  // namespace
}  // namespace onceguard::testing
