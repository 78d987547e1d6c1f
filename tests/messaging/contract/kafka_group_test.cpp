// Members of a group that come, go, and freeze: what they hold, and what the group remembers.
#include <map>
#include <set>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messaging/contract/kafka_fixture.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

class kafka_group : public kafka_fixture {};

/// A key for each of the partitions, so that it gets messages.
void publish_to_all(messaging::publisher& target, int partitions, int each) {
  std::vector<messaging::message> batch;
  for (int i = 0; i < 40 * partitions * each; ++i) {
    auto& next = batch.emplace_back();
    next.payload = std::to_string(i);
    next.order_key = "key" + std::to_string(i % 40);
  }
  target.publish(batch).value();
}

TEST_F(kafka_group, a_partition_that_moves_takes_its_deliveries_along) {
  const auto topic = broker().new_topic(2);
  publish_to_all(*sender(topic), 2, 1);
  const auto first = connect(broker().consumer_url(topic), 200);
  std::map<std::string, std::vector<delivery>> held;  // by partition
  for (auto& one : take_all(*first, 80)) held[partition_of(one)].push_back(std::move(one));
  ASSERT_EQ(held.size(), 2u);
  // Done before the partition moves: it must not come again.
  std::set<std::string> done;
  for (const auto& [partition, all] : held) {
    ASSERT_GE(all.size(), 2u);
    first->acknowledge(all[1].tag).value();
    done.insert(all[1].received.payload);
  }
  EXPECT_TRUE(take(*first, 1, 300ms).empty());  // time to commit
  const auto second = connect(broker().consumer_url(topic), 200);
  std::vector<delivery> moved;
  wait_until("the rebalance", [&] {
    EXPECT_TRUE(take(*first, 1, 50ms).empty());
    moved = take(*second, 200, 50ms);
    return !moved.empty();
  });
  const auto lost = partition_of(moved.front());
  for (auto& one : take_all(*second, held[lost].size() - 1 - moved.size())) {
    moved.push_back(std::move(one));
  }
  for (const auto& one : moved) {
    EXPECT_EQ(partition_of(one), lost);
    EXPECT_FALSE(done.contains(one.received.payload));
    second->acknowledge(one.tag).value();
  }
  for (const auto& [partition, all] : held) {
    for (const auto& one : all) {
      if (done.contains(one.received.payload)) continue;
      const auto settled = first->acknowledge(one.tag);
      ASSERT_EQ(settled.has_value(), partition != lost) << one.received.payload;
      if (!settled) {
        EXPECT_EQ(settled.error().code, errc::not_found);
      }
    }
  }
  EXPECT_TRUE(take(*first, 1, 300ms).empty());
  EXPECT_TRUE(take(*second, 1, 300ms).empty());
}

TEST_F(kafka_group, acknowledging_amid_a_rebalance_costs_no_partition) {
  const auto keeps_one = [] {
    const auto topic = broker().new_topic(2);
    publish_to_all(*sender(topic), 2, 10);
    const auto first = connect(broker().consumer_url(topic), 1'000);
    const auto held = take_all(*first, 800);
    const auto second = connect(broker().consumer_url(topic), 1'000);
    std::string moved;
    bool came_again = false;
    std::size_t next = 0;
    wait_until("the rebalance", [&] {
      came_again = came_again || !take(*first, 1, 5ms).empty();
      if (next < held.size() / 2) static_cast<void>(first->acknowledge(held[next++].tag));
      for (const auto& one : take(*second, 1'000, 5ms)) moved = partition_of(one);
      return !moved.empty();
    });
    for (; next < held.size() && !came_again; ++next) {
      const bool done = first->acknowledge(held[next].tag).has_value();
      came_again = done != (partition_of(held[next]) != moved);
    }
    return !came_again;
  };
  // A commit may meet a JoinGroup that is just on its way, seldom.
  EXPECT_TRUE(keeps_one() || keeps_one() || keeps_one());
}

TEST_F(kafka_group, what_is_done_behind_something_that_is_not_stays_done) {
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic);
  publish_numbers(topic, 6);
  {
    const auto first = connect(url);
    const auto got = take_all(*first, 6);
    for (const auto i : {1u, 2u, 4u}) first->acknowledge(got[i].tag).value();
  }
  const auto second = connect(url);
  const auto again = take_all(*second, 3);
  EXPECT_EQ(payloads_of(again), (std::vector<std::string>{"0", "3", "5"}));
  for (const auto& one : again) second->acknowledge(one.tag).value();
  EXPECT_TRUE(take(*second, 1, 300ms).empty());
}

TEST_F(kafka_group, a_note_that_the_broker_does_not_take_costs_repeats_only) {
  constexpr int offset_commit = 8;
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic);
  publish_numbers(topic, 3);
  {
    const auto first = connect(url);
    const auto got = take_all(*first, 3);
    // As many, as the longest note is halved each time until it is empty.
    server().fail(offset_commit, RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE, 12);
    first->acknowledge(got[0].tag).value();
    first->acknowledge(got[2].tag).value();
    const auto until = base::boot_now() + 2s;
    while (base::boot_now() < until) EXPECT_TRUE(take(*first, 1, 100ms).empty());
  }
  const auto second = connect(url);
  EXPECT_EQ(payloads_of(take_all(*second, 2)), (std::vector<std::string>{"1", "2"}));
}

TEST_F(kafka_group, a_commit_amid_a_rebalance_is_made_again) {
  constexpr int offset_commit = 8;
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic);
  publish_numbers(topic, 2);
  {
    const auto first = connect(url);
    const auto got = take_all(*first, 2);
    server().fail(offset_commit, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, 3);
    first->acknowledge(got[0].tag).value();
  }
  const auto second = connect(url);
  EXPECT_EQ(payloads_of(take_all(*second, 1)), std::vector<std::string>{"1"});
}

TEST_F(kafka_group, a_frozen_consumer_finds_its_deliveries_gone) {
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic);
  publish_numbers(topic, 1);
  int results[2];
  ASSERT_EQ(::pipe(results), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(results[0]);
    char outcome = 'x';
    try {
      const auto frozen = connect(url);
      const auto got = take_all(*frozen, 1);
      ::raise(SIGSTOP);
      const auto late = frozen->acknowledge(got[0].tag);
      if (late) {
        outcome = 'a';
      } else {
        outcome = late.error().code == errc::not_found ? 'n' : 'o';
      }
    } catch (const std::exception&) {
      outcome = 'e';
    }
    ::_exit(::write(results[1], &outcome, 1) == 1 ? 0 : 1);
  }
  ::close(results[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto other = connect(url);
  const auto again = take_all(*other, 1);
  EXPECT_EQ(again[0].received.payload, "0");
  ::kill(child, SIGCONT);
  char outcome = '-';
  EXPECT_EQ(::read(results[0], &outcome, 1), 1);
  ::close(results[0]);
  EXPECT_EQ(outcome, 'n');
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  // And it is still the other's.
  other->acknowledge(again[0].tag).value();
}

TEST_F(kafka_group, a_consumer_may_end_at_any_time) {
  const auto topic = broker().new_topic(3);
  for (const auto wait : {0ms, 0ms, 5ms, 100ms, 2'900ms, 3'000ms, 3'050ms}) {
    const auto url = broker().consumer_url(topic, "&start=latest");
    const auto one = connect(url);
    const auto other = connect(url);
    EXPECT_TRUE(take(*one, 1, wait).empty());
    EXPECT_TRUE(take(*other, 1, 0ms).empty());
  }
}

TEST_F(kafka_group, a_consumer_that_is_not_let_in_says_why) {
  constexpr int join_group = 11;
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic);
  // More than one: a consumer of another group, which is about to leave, may take some.
  server().fail(join_group, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, 20);
  const auto refused = connect(url);
  std::string words;
  wait_until("the refusal", [&] {
    const auto got = refused->receive(1, 100ms);
    if (got) return false;
    words = got.error().detail;
    return got.error().code == errc::broker_unreachable;
  });
  server().heal(join_group);
  EXPECT_NE(words.find("Group authorization failed"), std::string::npos) << words;
}

TEST_F(kafka_group, who_begins_at_the_end_gets_what_is_new) {
  const auto topic = broker().new_topic(1);
  const auto url = broker().consumer_url(topic, "&start=latest");
  publish_numbers(topic, 2);
  {
    const auto first = connect(url);
    wait_until("an assignment", [&] {
      EXPECT_TRUE(take(*first, 1, 100ms).empty());
      return first->backlog().value().has_value();
    });
  }
  // Nobody listens, but the group has begun: this is new to it.
  const std::vector<message> batch{text("new")};
  sender(topic)->publish(batch).value();
  const auto second = connect(url);
  EXPECT_EQ(payloads_of(take_all(*second, 1)), std::vector<std::string>{"new"});
}

}  // namespace
}  // namespace onceguard::testing
