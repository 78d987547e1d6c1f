// Which messages of a subscription may run now.
#include "messaging/subscription/message_queue.hpp"

#include <gtest/gtest.h>

namespace onceguard::messaging {
namespace {

using namespace std::chrono_literals;

class message_queue_test : public ::testing::Test {
 protected:
  static delivery of_key(std::uint64_t tag, const std::string& key) {
    delivery out;
    out.tag = tag;
    out.received.order_key = key;
    return out;
  }
  void add(message_queue& queue, std::uint64_t tag, const std::string& key = {}) const {
    queue.add(of_key(tag, key), "id" + std::to_string(tag), now_ + 1h);
  }
  std::vector<std::uint64_t> run(message_queue& queue, std::size_t most = 10,
                                 milliseconds later = 0ms) const {
    std::vector<std::uint64_t> out;
    for (const auto* const one : queue.next_batch(most, now_ + later)) {
      out.push_back(one->message.tag);
    }
    return out;
  }
  using tags = std::vector<std::uint64_t>;

  const message_queue::time_point now_{};
};

TEST_F(message_queue_test, runs_messages_in_their_order_and_no_more_than_asked) {
  message_queue queue(order_rule::skip);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) add(queue, tag);
  EXPECT_EQ(run(queue, 2), (tags{1, 2}));
  EXPECT_EQ(run(queue, 2), (tags{3}));
  EXPECT_EQ(run(queue, 2), tags{});
  EXPECT_EQ(queue.size(), 3u);
}

TEST_F(message_queue_test, a_key_runs_in_one_batch_at_a_time) {
  message_queue queue(order_rule::skip);
  add(queue, 1, "a");
  add(queue, 2, "b");
  add(queue, 3, "a");
  EXPECT_EQ(run(queue, 1), tags{1});
  EXPECT_EQ(run(queue), tags{2}) << "3 waits for 1";
  queue.remove(1);
  EXPECT_EQ(run(queue), tags{3});
}

TEST_F(message_queue_test, a_batch_keeps_the_order_of_a_key) {
  message_queue queue(order_rule::skip);
  add(queue, 1, "a");
  add(queue, 2, "a");
  EXPECT_EQ(run(queue), (tags{1, 2}));
  queue.remove(1);
  add(queue, 3, "a");
  EXPECT_EQ(run(queue), tags{}) << "2 still runs";
  queue.remove(2);
  EXPECT_EQ(run(queue), tags{3});
}

TEST_F(message_queue_test, skip_passes_a_message_that_waits) {
  message_queue queue(order_rule::skip);
  add(queue, 1, "a");
  add(queue, 2, "a");
  EXPECT_EQ(run(queue, 1), tags{1});
  queue.retry(1, now_ + 10ms);
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_EQ(run(queue), tags{2});
  EXPECT_EQ(run(queue, 10, 11ms), tags{}) << "2 runs";
  queue.remove(2);
  EXPECT_EQ(run(queue, 10, 11ms), tags{1});
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST_F(message_queue_test, stop_waits_for_the_failed_message) {
  message_queue queue(order_rule::stop);
  add(queue, 1, "a");
  add(queue, 2, "a");
  add(queue, 3, "b");
  EXPECT_EQ(run(queue), (tags{1, 3})) << "one of a key at a time";
  queue.retry(1, now_ + 10ms);
  EXPECT_EQ(run(queue), tags{});
  EXPECT_EQ(run(queue, 10, 11ms), tags{1});
  queue.remove(1);
  EXPECT_EQ(run(queue), tags{2});
}

TEST_F(message_queue_test, messages_without_a_key_wait_for_nobody) {
  message_queue queue(order_rule::stop);
  add(queue, 1);
  add(queue, 2);
  EXPECT_EQ(run(queue, 1), tags{1});
  queue.retry(1, now_ + 1h);
  EXPECT_EQ(run(queue), tags{2});
}

TEST_F(message_queue_test, knows_the_first_retry) {
  message_queue queue(order_rule::skip);
  for (std::uint64_t tag = 1; tag <= 3; ++tag) add(queue, tag);
  EXPECT_EQ(queue.first_retry(), std::nullopt);
  run(queue);
  queue.retry(2, now_ + 30ms);
  queue.retry(3, now_ + 10ms);
  EXPECT_EQ(queue.first_retry(), now_ + 10ms);
  queue.remove(3);
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_EQ(queue.first_retry(), now_ + 30ms);
}

TEST_F(message_queue_test, extends_what_is_due_once) {
  message_queue queue(order_rule::skip);
  queue.add(of_key(1, ""), "id1", now_ + 10ms);
  queue.add(of_key(2, ""), "id2", now_ + 20ms);
  run(queue, 1);
  EXPECT_EQ(queue.to_extend(now_, now_ + 1h), tags{});
  EXPECT_EQ(queue.to_extend(now_ + 10ms, now_ + 1h), tags{1}) << "while it runs, too";
  EXPECT_EQ(queue.to_extend(now_ + 20ms, now_ + 1h), tags{2});
  EXPECT_EQ(queue.idle(), tags{2});
}

TEST_F(message_queue_test, a_message_that_is_gone_can_not_be_retried) {
  message_queue queue(order_rule::skip);
  queue.retry(7, now_);
  EXPECT_EQ(queue.size(), 0u);
  queue.remove(7);
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST_F(message_queue_test, a_probe_is_the_message_that_was_tried_least) {
  message_queue queue(order_rule::skip);
  const auto probe = [&](milliseconds later) {
    const auto got = queue.next_probe(now_ + later);
    return got.empty() ? 0 : got[0]->message.tag;
  };
  add(queue, 1, "a");
  EXPECT_TRUE(queue.has_untried(now_));
  EXPECT_EQ(probe(0ms), 1u);
  add(queue, 2, "a");
  EXPECT_FALSE(queue.has_untried(now_)) << "the key runs";
  queue.excuse(1, now_ + 10ms, false);
  EXPECT_EQ(probe(20ms), 2u) << "which has not been tried";
  EXPECT_EQ(probe(20ms), 0u);
  queue.excuse(2, now_ + 30ms, false);
  EXPECT_FALSE(queue.has_untried(now_ + 20ms));
  EXPECT_EQ(probe(9ms), 0u) << "both wait";
  EXPECT_EQ(probe(20ms), 1u);
  queue.excuse(1, now_ + 10ms, false);
  add(queue, 3, "b");
  EXPECT_EQ(probe(40ms), 3u) << "whichever came first";
}

TEST_F(message_queue_test, a_failed_probe_is_no_evidence) {
  message_queue queue(order_rule::skip);
  add(queue, 1);
  run(queue);
  queue.excuse(1, now_, false);
  queue.note_success();
  const auto probe = queue.next_probe(now_);
  ASSERT_EQ(probe.size(), 1u);
  EXPECT_EQ(probe[0]->blamed, 0u);
  queue.excuse(1, now_, false);
  queue.note_success();
  const auto batch = queue.next_batch(1, now_);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0]->blamed, 1u);
  EXPECT_EQ(batch[0]->excused, 1u);
}

TEST_F(message_queue_test, one_that_is_to_be_alone_gets_no_company_however_often_it_fails) {
  message_queue queue(order_rule::skip);
  add(queue, 1);
  EXPECT_EQ(run(queue), tags{1});
  queue.retry(1, now_, true);
  add(queue, 2);
  EXPECT_EQ(run(queue), tags{1});
  queue.retry(1, now_);
  EXPECT_EQ(run(queue), tags{2}) << "which has come first";
  queue.remove(2);
  add(queue, 3);
  EXPECT_EQ(run(queue), tags{1});
  EXPECT_EQ(run(queue), tags{3});
}

TEST_F(message_queue_test, the_key_of_what_still_runs_stays_taken_when_the_connection_is_lost) {
  message_queue queue(order_rule::skip);
  add(queue, 1, "a");
  EXPECT_EQ(run(queue), tags{1});
  queue.clear();
  add(queue, 2, "a");
  EXPECT_EQ(run(queue), tags{}) << "1 runs on, on its way to nobody";
  queue.end("a", "id1");
  EXPECT_EQ(run(queue), tags{2});
}

}  // namespace
}  // namespace onceguard::messaging
