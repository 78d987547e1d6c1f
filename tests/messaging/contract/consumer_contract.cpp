// The contract of onceguard/broker.hpp, the same for every broker.
#include <set>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "messaging/contract/consumer_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class consumer_contract : public consumer_fixture {};

TEST_P(consumer_contract, a_message_arrives_as_it_was_sent) {
  auto sent = text(std::string("\0\xff payload\r\n", 11), "order-17");
  sent.headers = {{"trace", "abc"}, {"Content", "text/plain"}};
  publish({sent});
  const auto receiver = connect();
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload, sent.payload);
  ASSERT_NE(messaging::property_of(got.received, "message_id"), nullptr);
  EXPECT_EQ(*messaging::property_of(got.received, "message_id"), "order-17");
  ASSERT_NE(messaging::header_of(got.received, "TRACE"), nullptr);
  EXPECT_EQ(*messaging::header_of(got.received, "TRACE"), "abc");
  EXPECT_EQ(got.count, 1u);
  acknowledge(*receiver, got);
}

TEST_P(consumer_contract, an_empty_payload_and_a_large_one_arrive) {
  const std::string large(300'000, 'x');
  publish({text("", "a"), text(large, "b")});
  const auto receiver = connect();
  const auto got = take_all(*receiver, 2);
  EXPECT_EQ(got[0].received.payload, "");
  EXPECT_EQ(got[1].received.payload, large);
}

TEST_P(consumer_contract, a_message_without_an_id_has_none) {
  publish({text("x")});
  const auto receiver = connect();
  EXPECT_EQ(messaging::property_of(take_one(*receiver).received, "message_id"), nullptr);
}

TEST_P(consumer_contract, what_was_acknowledged_never_comes_again) {
  within_the_hold([&] {
    publish_numbers(3);
    const auto receiver = connect();
    for (const auto& got : take_all(*receiver, 3)) acknowledge(*receiver, got);
  });
  const auto second = connect();
  expect_none(*second, GetParam().hold + 500ms);
}

TEST_P(consumer_contract, what_was_not_acknowledged_comes_again_when_the_consumer_is_gone) {
  within_the_hold([&] {
    publish_numbers(2);
    const auto receiver = connect();
    const auto got = take_all(*receiver, 2);
    acknowledge(*receiver, got[0]);
  });
  const auto second = connect();
  wait_until("an acknowledgement within the hold", [&] {
    const auto again = take_one(*second);
    EXPECT_EQ(again.received.payload, "1");
    if (second->traits().counts) {
      EXPECT_GE(again.count, 2u);
    }
    acknowledge(*second, again);
    return true;
  });
  expect_none(*second);
}

TEST_P(consumer_contract, a_consumer_that_is_killed_loses_nothing) {
  within_the_hold([&] {
    publish_numbers(5);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
      try {
        const auto receiver = connect();
        const auto got = take_all(*receiver, 5);
        acknowledge(*receiver, got[2]);
        ::kill(::getpid(), SIGKILL);  // before the consumer is closed
      } catch (...) {
        ::_exit(1);
      }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) throw std::runtime_error("it ended by itself");
  });
  const auto second = connect();
  // What was acknowledged in a bundle may come again; where the order counts, it does.
  std::set<std::string> expected{"0", "1", "3", "4"};
  if (GetParam().acknowledges_in_order) expected.insert("2");
  const bool exact = !second->traits().bundled;
  std::set<std::string> rest;
  wait_until("the rest", [&] {
    for (const auto& got : take(*second, 5, 1s)) {
      if (exact || got.received.payload != "2") rest.insert(got.received.payload);
    }
    return rest.size() >= expected.size();
  });
  EXPECT_EQ(rest, expected);
}

TEST_P(consumer_contract, what_is_given_back_comes_again) {
  publish({text("x", "1")});
  const auto receiver = connect();
  const auto first = take_one(*receiver);
  ASSERT_TRUE(receiver->give_back(first.tag, 0ms).has_value());
  const auto again = take_one(*receiver);
  EXPECT_EQ(again.received.payload, "x");
  EXPECT_NE(again.tag, first.tag);
  if (receiver->traits().counts) {
    EXPECT_EQ(again.count, 2u);
  }
  acknowledge(*receiver, again);
}

TEST_P(consumer_contract, what_is_given_back_comes_after_the_delay) {
  publish({text("x", "1")});
  const auto receiver = connect();
  if (!receiver->traits().delays) return;
  const auto first = take_one(*receiver);
  const auto given_back = base::boot_now();
  ASSERT_TRUE(receiver->give_back(first.tag, 700ms).has_value());
  const auto again = take_one(*receiver);
  EXPECT_GE(base::boot_now() - given_back, 650ms);
  acknowledge(*receiver, again);
}

TEST_P(consumer_contract, a_dead_letter_leaves_the_queue) {
  publish({text("x", "1"), text("y", "2")});
  const auto receiver = connect();
  const auto got = take_all(*receiver, 2);
  const auto moved = receiver->dead_letter(got[0].tag);
  EXPECT_EQ(moved.has_value(), receiver->traits().dead_letters);
  if (!moved) {
    EXPECT_EQ(moved.error().code, errc::invalid_argument);
    acknowledge(*receiver, got[0]);  // still held
    return;
  }
  acknowledge(*receiver, got[1]);
  expect_none(*receiver);
  auto dead = messaging::open_consumer(at(queue_.dead_letters_url)).value();
  const auto found = take_one(*dead);
  EXPECT_EQ(found.received.payload, "x");
  EXPECT_EQ(*messaging::property_of(found.received, "message_id"), "1");
}

TEST_P(consumer_contract, no_more_are_held_than_allowed) {
  publish_numbers(5);
  const auto receiver = connect(2);
  auto got = take_all(*receiver, 2);
  EXPECT_TRUE(take(*receiver, 10, short_wait).empty());
  acknowledge(*receiver, got[0]);
  EXPECT_EQ(take(*receiver, 10, long_wait).size(), 1u);
}

TEST_P(consumer_contract, receive_waits_for_a_message_and_no_longer_than_asked) {
  const auto receiver = connect();
  const auto begin = base::boot_now();
  EXPECT_TRUE(take(*receiver, 1, 300ms).empty());
  EXPECT_GE(base::boot_now() - begin, 250ms);
  EXPECT_LT(base::boot_now() - begin, 10s);
  std::jthread later([this] { publish({text("x", "1")}); });
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
}

TEST_P(consumer_contract, two_consumers_share_the_messages) {
  const auto one = connect(3);
  const auto other = connect_other(3);
  publish_numbers(6);
  std::multiset<std::string> all;
  if (one->traits().partitioned) {
    // Who gets how many is the broker's choice.
    wait_until("all messages", [&] {
      for (auto* const each : {one.get(), other.get()}) {
        for (const auto& got : take(*each, 3, short_wait)) {
          all.insert(got.received.payload);
          acknowledge(*each, got);
        }
      }
      return all.size() >= 6;
    });
  } else {
    for (const auto& got : take_all(*one, 3)) all.insert(got.received.payload);
    for (const auto& got : take_all(*other, 3)) all.insert(got.received.payload);
  }
  EXPECT_EQ(all, (std::multiset<std::string>{"0", "1", "2", "3", "4", "5"}));
}

TEST_P(consumer_contract, a_delivery_that_is_held_for_too_long_goes_to_another) {
  if (GetParam().hold == 0ms) return;
  queue_ = server().make_queue();
  publish({text("x", "1")});
  const auto slow = connect();
  EXPECT_EQ(slow->traits().hold, GetParam().hold);
  const auto first = take_one(*slow);
  const auto other = connect();
  wait_until("an acknowledgement within the hold", [&] {
    const auto again = take_one(*other);
    EXPECT_EQ(again.received.payload, "x");
    acknowledge(*other, again);
    return true;
  });
  const auto late = slow->acknowledge(first.tag);
  if (!late) {
    EXPECT_EQ(late.error().code, errc::not_found);
  }
}

TEST_P(consumer_contract, a_delivery_that_is_extended_stays) {
  if (GetParam().hold == 0ms) return;
  const auto stays = [&] {
    queue_ = server().make_queue();
    publish({text("x", "1")});
    const auto receiver = connect();
    auto held_since = base::boot_now();  // or later
    const auto got = take_one(*receiver);
    // The only excuse: a busy machine may be too late with an extension.
    const auto late = [&] { return base::boot_now() - held_since >= GetParam().hold; };
    const auto other = connect();
    const auto until = base::boot_now() + 2 * GetParam().hold;
    while (base::boot_now() < until) {
      const auto now = base::boot_now();
      if (!receiver->extend(got.tag)) {
        EXPECT_TRUE(late());
        return false;
      }
      held_since = now;
      if (!take(*other, 1, GetParam().hold / 4).empty()) {
        EXPECT_TRUE(late()) << "it was held";
        return false;
      }
    }
    if (!receiver->acknowledge(got.tag)) {
      EXPECT_TRUE(late());
      return false;
    }
    const bool in_time = !late();
    const bool none = take(*other, 1, GetParam().hold + 500ms).empty();
    EXPECT_TRUE(none || !in_time) << "acknowledged, and delivered again";
    return none;
  };
  EXPECT_TRUE(stays() || stays() || stays());
}

TEST_P(consumer_contract, what_is_not_held_can_not_be_settled) {
  publish({text("x", "1")});
  const auto receiver = connect();
  const auto got = take_one(*receiver);
  acknowledge(*receiver, got);
  for (const auto tag : {got.tag, got.tag + 1'000}) {
    EXPECT_EQ(receiver->acknowledge(tag).error().code, errc::not_found);
    EXPECT_EQ(receiver->extend(tag).error().code, errc::not_found);
    EXPECT_EQ(receiver->give_back(tag, 0ms).error().code, errc::not_found);
  }
  publish({text("y", "2")});  // and the connection is as good as before
  EXPECT_EQ(take_one(*receiver).received.payload, "y");
}

TEST_P(consumer_contract, a_queue_that_is_missing_is_an_error) {
  const auto opened = messaging::open_consumer(at(server().missing_url()));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, errc::not_found) << opened.error().detail;
}

TEST_P(consumer_contract, messages_of_one_key_arrive_in_order) {
  const auto receiver = connect(1'000);
  if (!receiver->traits().ordered) return;
  std::vector<message> batch;
  for (int i = 0; i < 200; ++i) {
    batch.push_back(text(std::to_string(i), std::to_string(i)));
    batch.back().order_key = "key";
  }
  publish(batch);
  // A broker may deliver one of a key at a time.
  for (int next = 0; next < 200;) {
    const auto got = take(*receiver, 200, long_wait);
    ASSERT_FALSE(got.empty());
    for (const auto& one : got) {
      EXPECT_EQ(one.received.payload, std::to_string(next++));
      acknowledge(*receiver, one);
    }
  }
}

TEST_P(consumer_contract, the_backlog_counts_what_waits) {
  publish_numbers(7);
  const auto receiver = connect();
  wait_until("the backlog", [&] {
    const auto waiting = receiver->backlog();
    return waiting && (!*waiting || **waiting <= 7u);
  });
  for (const auto& got : take_all(*receiver, 7)) acknowledge(*receiver, got);
  wait_until("an empty queue", [&] {
    const auto waiting = receiver->backlog();
    return waiting && waiting->value_or(0) == 0u;
  });
}

INSTANTIATE_TEST_SUITE_P(brokers, consumer_contract, ::testing::ValuesIn(tested_brokers()),
                         [](const auto& broker) { return broker.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(consumer_contract);

}  // namespace
}  // namespace onceguard::testing
