// Where `onceguard messages` takes the dead letters of each broker from.
#include "consume/dead_letter_box.hpp"

#include <gtest/gtest.h>

namespace onceguard::testing {
namespace {

std::string box_of(const std::string& queue, const std::string& dead_letter) {
  consume::consume_params params;
  params.subscriber = "billing";
  params.queue = queue;
  params.dead_letter = dead_letter;
  const auto url = consume::dead_letter_box_url(params);
  return url ? *url : url.error().detail;
}

TEST(dead_letter_box, a_destination_that_is_a_queue_is_looked_into) {
  EXPECT_EQ(box_of("", "amqp://a:b@h/v/dead"), "amqp://a:b@h/v/dead");
  EXPECT_EQ(box_of("", "redis://h/dead"), "redis://h/dead?group=onceguard-messages&create=yes");
  EXPECT_EQ(box_of("", "redis://h/dead?max_length=9"),
            "redis://h/dead?group=onceguard-messages&create=yes");
  EXPECT_EQ(box_of("", "kafka://h,i/dead"), "kafka://h,i/dead?group=onceguard-messages");
  EXPECT_EQ(box_of("", "sqs://eu-west-1/dead"), "sqs://eu-west-1/dead");
  EXPECT_EQ(box_of("", "postgresql://h/d?queue=dead"), "postgresql://h/d?queue=dead");
}

TEST(dead_letter_box, the_own_dead_letters_of_a_queue_are_found_where_its_url_names_them) {
  EXPECT_EQ(box_of("postgresql://h/d?queue=orders", ""), "postgresql://h/d?queue=orders&dead=yes");
  EXPECT_EQ(box_of("kafka://h/orders?group=g&hold=9s&dead_letters=orders.dead", ""),
            "kafka://h/orders.dead?group=onceguard-messages");
}

TEST(dead_letter_box, elsewhere_the_queue_has_to_be_named) {
  for (const auto& [queue, dead_letter] :
       {std::pair("nats://h/S/C", "nats://h/dead"), std::pair("", "mqtt://h/dead?client_id=c"),
        std::pair("", "amqp://h/?exchange=dead"), std::pair("amqp://h/q?dead_letters=yes", ""),
        std::pair("sqs://eu-west-1/q", "")}) {
    EXPECT_NE(box_of(queue, dead_letter).find("dead_letter_queue is missing"), std::string::npos)
        << queue << ' ' << dead_letter;
  }
  consume::consume_params params;
  params.dead_letter_queue = "nats://h/DEAD/operators";
  EXPECT_EQ(*consume::dead_letter_box_url(params), "nats://h/DEAD/operators");
  params.dead_letter_queue.clear();
  params.drop_dead_letters = true;
  EXPECT_NE(consume::dead_letter_box_url(params).error().detail.find("drops"), std::string::npos);
}

TEST(dead_letter_box, a_look_is_counted_where_the_broker_gives_up_what_was_delivered_too_often) {
  for (const auto& [queue, counted] :
       {std::pair("amqp://h/dead", true), std::pair("amqps://h/dead", true),
        std::pair("nats://h/S/C", true), std::pair("sqs://eu-west-1/dead", true),
        std::pair("kafka://h/dead?group=g", false), std::pair("redis://h/dead?group=g", false),
        std::pair("postgresql://h/d?queue=dead", false)}) {
    consume::consume_params params;
    params.dead_letter_queue = queue;
    EXPECT_EQ(consume::reading_is_counted(params), counted) << queue;
  }
}

}  // namespace
}  // namespace onceguard::testing
