// The loop between a consumer and an inbox, on a broker whose faults the test decides.
#include <atomic>
#include <condition_variable>
#include <set>

#include "base/time_text.hpp"
#include "messaging/subscription/subscription_fixture.hpp"

namespace onceguard::testing {
namespace {

using subscription_test = subscription_fixture;

TEST_F(subscription_test, every_message_is_handled_and_acknowledged) {
  for (int i = 0; i < 30; ++i) queue_->put(std::to_string(i), "m" + std::to_string(i));
  std::set<std::string> seen;
  const auto done = run(answering([&](const delivered& one) {
                          seen.insert(one.id);
                          return one_of(inbox_result::handled);
                        }),
                        [&] { return queue_->settled() == 30; });
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(seen.size(), 30u);
  EXPECT_LE(queue_->held_most, 8u);
  EXPECT_EQ(count(messaging::subscription_event_kind::received), 30u);
  EXPECT_EQ(count(messaging::subscription_event_kind::settled), 30u);
}

TEST_F(subscription_test, duplicates_are_acknowledged) {
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::duplicate); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_TRUE(dead_->published.empty());
}

TEST_F(subscription_test,
       an_unknown_message_lies_among_the_dead_letters_before_it_is_acknowledged) {
  params_.queue.name = "billing";
  queue_->traits.delays = true;
  dead_->refuse_publish = {error(errc::broker_unreachable, "away")};
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::unknown); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_GE(queue_->given_back.size(), 1u) << "while the dead letters are away it is not settled";
  ASSERT_EQ(dead_->published.size(), 1u);
  const auto& kept = dead_->published[0];
  EXPECT_EQ(kept.payload, "a");
  EXPECT_EQ(*messaging::header_of(kept, messaging::reason_header), "because");
  EXPECT_EQ(*messaging::header_of(kept, messaging::outcome_header), "unknown");
  EXPECT_EQ(*messaging::header_of(kept, messaging::subscriber_header), "billing");
  EXPECT_EQ(*messaging::header_of(kept, messaging::key_header), "1");
  EXPECT_TRUE(base::parse_time(*messaging::header_of(kept, messaging::since_header)));
}

TEST_F(subscription_test, a_dead_letter_is_published_with_its_reason_and_then_acknowledged) {
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  ASSERT_EQ(dead_->published.size(), 1u);
  EXPECT_EQ(dead_->published[0].payload, "a");
  EXPECT_EQ(*messaging::property_of(dead_->published[0], "message_id"), "1");
  EXPECT_EQ(*messaging::header_of(dead_->published[0], messaging::reason_header), "because");
  EXPECT_EQ(count(messaging::subscription_event_kind::dead_lettered), 1u);
}

TEST_F(subscription_test, a_dead_letter_that_can_not_be_published_is_not_lost) {
  queue_->traits.delays = true;
  dead_->refuse_publish = {error(errc::broker_unreachable, "away")};
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_EQ(dead_->published.size(), 1u);
  EXPECT_GE(queue_->given_back.size(), 1u);
  EXPECT_EQ(count(messaging::subscription_event_kind::not_settled), queue_->given_back.size());
}

TEST_F(subscription_test, the_brokers_own_destination_for_dead_letters_will_do) {
  queue_->traits.dead_letters = true;
  params_.dead_letters.reset();
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_EQ(queue_->dead, std::vector<std::string>{"a"});
}

TEST_F(subscription_test, without_a_destination_for_dead_letters_it_does_not_start) {
  params_.dead_letters.reset();
  const auto done = run_subscription(
      params_, {}, answering([](const delivered&) { return one_of(inbox_result::handled); }));
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, errc::conflict);
}

TEST_F(subscription_test, an_inbox_that_forgets_too_early_does_not_start) {
  queue_->traits.redelivery = milliseconds(60'000);
  const auto worker = answering([](const delivered&) { return one_of(inbox_result::handled); });
  const auto done = run_subscription(params_, {}, worker, milliseconds(60'000));
  ASSERT_FALSE(done.has_value());
  EXPECT_NE(done.error().detail.find("60 seconds"), std::string::npos);
}

TEST_F(subscription_test, a_failed_message_waits_here_where_the_broker_has_no_delay) {
  queue_->put("a", "1");
  std::atomic<int> runs = 0;
  base::boot_clock::time_point first{};
  base::boot_clock::time_point second{};
  run(answering([&](const delivered&) {
        if (++runs == 1) {
          first = base::boot_now();
          return one_of(inbox_result::failed, milliseconds(60));
        }
        second = base::boot_now();
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_GE(second - first, milliseconds(60));
  EXPECT_TRUE(queue_->given_back.empty());
}

TEST_F(subscription_test, messages_that_wait_do_not_keep_others_from_coming) {
  for (int i = 0; i < 20; ++i) queue_->put("poison", "p" + std::to_string(i));
  queue_->put("good", "g");
  run(answering([](const delivered& one) {
        const bool good = one.source->received.payload == "good";
        return good ? one_of(inbox_result::handled)
                    : one_of(inbox_result::failed, milliseconds(3'600'000));
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(queue_->acknowledged, std::vector<std::string>{"good"});
}

TEST_F(subscription_test, order_stop_waits_for_the_failed_message_of_a_key) {
  params_.order = messaging::order_rule::stop;
  queue_->put("a1", "1", "a");
  queue_->put("a2", "2", "a");
  queue_->put("b1", "3", "b");
  std::atomic<int> failures = 0;
  run(answering([&](const delivered& one) {
        if (one.id == "1" && ++failures < 3) return one_of(inbox_result::failed, milliseconds(10));
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 3; })
      .value();
  const auto& order = queue_->acknowledged;
  EXPECT_LT(std::find(order.begin(), order.end(), "a1"),
            std::find(order.begin(), order.end(), "a2"));
}

TEST_F(subscription_test, a_slow_message_is_extended) {
  queue_->traits.hold = milliseconds(60);
  queue_->put("a", "1");
  run(answering([&](const delivered&) {
        wait_until("an extension", [&] {
          const std::lock_guard locked(queue_->mutex);
          return queue_->extended >= 3;
        });
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
}

TEST_F(subscription_test, an_error_of_the_store_gives_the_batch_back_and_makes_the_worker_anew) {
  queue_->put("a", "1");
  std::atomic<int> made = 0;
  const auto worker = [&]() -> batch_worker {
    const bool broken = ++made < 3;
    if (made == 2) throw std::runtime_error("no connection");
    return [broken](std::span<const delivered> batch) -> result<outcomes> {
      if (broken) return error(errc::store_unreachable, "away");
      return outcomes(batch.size(), one_of(inbox_result::handled));
    };
  };
  run(worker, [&] { return queue_->settled() == 1; }).value();
  EXPECT_EQ(made, 3);
  EXPECT_EQ(count(messaging::subscription_event_kind::store_away), 2u);
}

TEST_F(subscription_test, it_connects_again_after_the_broker_was_away) {
  queue_->refuse_open = {error(errc::broker_unreachable, "away")};
  queue_->refuse_acknowledge = {error(errc::broker_unreachable, "away")};
  queue_->put("a", "1");
  std::atomic<int> runs = 0;
  run(answering([&](const delivered&) {
        ++runs;
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(queue_->connections, 2u);
  EXPECT_EQ(runs, 2) << "the broker delivers it again";
  EXPECT_EQ(count(messaging::subscription_event_kind::broker_away), 2u);
}

TEST_F(subscription_test, a_queue_that_is_missing_at_the_start_is_an_error) {
  queue_->refuse_open = {error(errc::not_found, "no queue")};
  const auto done = run_subscription(
      params_, {}, answering([](const delivered&) { return one_of(inbox_result::handled); }));
  EXPECT_EQ(done.error().code, errc::not_found);
}

TEST_F(subscription_test, the_end_finishes_what_runs_and_gives_back_the_rest) {
  params_.batch = 1;
  for (int i = 0; i < 5; ++i) queue_->put(std::to_string(i), std::to_string(i));
  std::stop_source stop;
  result<void> ended;
  std::atomic<bool> running = false;
  std::atomic<bool> go = false;
  std::jthread loop([&] {
    ended = run_subscription(params_, stop.get_token(), answering([&](const delivered&) {
                               running = true;
                               go.wait(false);
                               return one_of(inbox_result::handled);
                             }));
  });
  wait_until("the first", [&] { return running.load(); });
  wait_until("the others", [&] {
    const std::lock_guard locked(queue_->mutex);
    return queue_->held.size() == 5;
  });
  stop.request_stop();
  wait_until("the others to be given back", [&] {
    const std::lock_guard locked(queue_->mutex);
    return queue_->given_back.size() == 4;
  });
  go = true;
  go.notify_all();
  loop.join();
  EXPECT_EQ(queue_->acknowledged, std::vector<std::string>{"0"});
}

TEST_F(subscription_test, several_workers_work_at_once) {
  params_.workers = 3;
  params_.batch = 1;
  for (int i = 0; i < 3; ++i) queue_->put(std::to_string(i), std::to_string(i));
  std::mutex mutex;
  std::condition_variable together;
  int inside = 0;
  run(answering([&](const delivered&) {
        std::unique_lock locked(mutex);
        ++inside;
        together.notify_all();
        together.wait(locked, [&] { return inside == 3; });
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 3; })
      .value();
}

TEST_F(subscription_test, a_message_without_an_id_reaches_the_inbox_without_one) {
  params_.id_of = [](const messaging::message&) { return std::nullopt; };
  queue_->put("a", "1");
  run(answering([](const delivered& one) {
        EXPECT_EQ(one.id, "");
        return one_of(inbox_result::dead);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
}

}  // namespace
}  // namespace onceguard::testing
