// What a subscription holds: until when, on which connection, and what it gives back at its end.
#include <atomic>

#include "messaging/subscription/dead_letters.hpp"
#include "messaging/subscription/subscription_fixture.hpp"

namespace onceguard::testing {
namespace {

class subscription_hold : public subscription_fixture {
 protected:
  template <class Value>
  [[nodiscard]] Value of_queue(const std::function<Value(scripted_queue&)>& read) const {
    const std::lock_guard locked(queue_->mutex);
    return read(*queue_);
  }
  [[nodiscard]] std::size_t extended() const {
    return of_queue<std::size_t>([](auto& queue) { return queue.extended; });
  }
  [[nodiscard]] std::size_t given_back() const {
    return of_queue<std::size_t>([](auto& queue) { return queue.given_back.size(); });
  }
};

TEST_F(subscription_hold, a_batch_of_a_former_connection_settles_nothing_on_the_next_one) {
  params_.batch = 1;
  queue_->put("a", "1");
  std::atomic<int> arrivals = 0;
  std::atomic<int> failures = 0;
  params_.on_event = [&](const subscription_event& happened) {
    using kind = messaging::subscription_event_kind;
    if (happened.kind == kind::received) ++arrivals;
    if (happened.kind == kind::settled && happened.id == "2") ++failures;
    if (happened.kind != kind::broker_away) return;
    // The broker numbers from the beginning, and another message comes first.
    const std::lock_guard locked(queue_->mutex);
    queue_->waiting.front().received.payload = "b";
    queue_->waiting.front().received.properties = {{"message_id", "2"}};
  };
  run(answering([&](const delivered& one) {
        if (one.id == "2") return one_of(inbox_result::failed, milliseconds(3'600'000));
        {
          const std::lock_guard locked(queue_->mutex);
          queue_->refuse_receive = {error(errc::broker_unreachable, "the line broke")};
        }
        wait_until("the other message", [&] { return arrivals == 2; });
        return one_of(inbox_result::handled);
      }),
      [&] { return failures == 1 || queue_->settled() > 0; })
      .value();
  EXPECT_EQ(queue_->connections, 2u);
  EXPECT_EQ(queue_->acknowledged, std::vector<std::string>{});
}

TEST_F(subscription_hold, a_message_is_extended_long_before_its_hold_is_over) {
  queue_->traits.hold = milliseconds(12'000);
  const auto is_extended_early = [&] {
    const auto before = extended();
    const auto settled = queue_->settled();
    queue_->put("a", "1");
    const auto begin = base::boot_now();
    run(answering([&](const delivered&) {
          wait_until("an extension", [&] { return extended() > before; });
          return one_of(inbox_result::handled);
        }),
        [&] { return queue_->settled() > settled; })
        .value();
    return base::boot_now() - begin < queue_->traits.hold / 2;
  };
  // A busy machine is late at some times.
  EXPECT_TRUE(is_extended_early() || is_extended_early() || is_extended_early());
}

TEST_F(subscription_hold, a_running_message_that_is_held_no_more_still_keeps_its_key) {
  queue_->traits.hold = milliseconds(30);
  params_.workers = 2;
  params_.batch = 1;
  queue_->put("first", "1", "key");
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> arrivals = 0;
  params_.on_event = [&](const subscription_event& happened) {
    if (happened.kind == messaging::subscription_event_kind::received) ++arrivals;
  };
  const auto lose_the_hold = [&] {
    {
      const std::lock_guard locked(queue_->mutex);
      queue_->refuse_extend = {error(errc::not_found, "not held")};
    }
    wait_until("the refusal", [&] {
      return of_queue<bool>([](auto& queue) { return queue.refuse_extend.empty(); });
    });
    queue_->put("second", "2", "key");
    wait_until("the second", [&] { return arrivals == 2; });
    const auto before = extended();
    wait_until("further turns", [&] { return extended() >= before + 3; });
  };
  run(answering([&](const delivered& one) {
        most = std::max(most.load(), ++running);
        if (one.id == "1") lose_the_hold();
        --running;
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  EXPECT_EQ(most, 1);
}

/// The end of a subscription while one message runs and another one waits.
class subscription_end : public subscription_hold {
 protected:
  /// `at_end`: what the first message does when the end has begun.
  void run_to_end(const std::function<inbox_outcome()>& at_end) {
    params_.batch = 1;
    queue_->put("runs", "1");
    queue_->put("waits", "2");
    std::atomic<bool> runs = false;
    std::stop_source stop;
    std::jthread loop([&] {
      run_subscription(params_, stop.get_token(), answering([&](const delivered&) {
                         runs = true;
                         wait_until("the end to begin", [&] { return given_back() == 1; });
                         return at_end();
                       }))
          .value();
    });
    wait_until("both", [&] {
      return runs && of_queue<bool>([](auto& queue) { return queue.held.size() == 2; });
    });
    stop.request_stop();
  }
};

TEST_F(subscription_end, what_still_runs_is_extended) {
  queue_->traits.hold = milliseconds(60);
  bool extended_twice = false;
  run_to_end([&] {
    const auto before = extended();
    wait_until("extensions", [&] { return extended() >= before + 2; });
    extended_twice = true;
    return one_of(inbox_result::handled);
  });
  EXPECT_TRUE(extended_twice);
  EXPECT_EQ(queue_->acknowledged, std::vector<std::string>{"runs"});
}

TEST_F(subscription_end, what_fails_meanwhile_is_given_back_at_once) {
  run_to_end([] { return one_of(inbox_result::failed, milliseconds(3'600'000)); });
  EXPECT_EQ(queue_->given_back, (std::vector<std::string>{"waits", "runs"}));
}

TEST_F(subscription_hold, a_broker_with_delays_is_not_given_what_others_of_its_key_wait_for) {
  queue_->traits.delays = true;
  params_.order = messaging::order_rule::stop;
  queue_->put("a1", "1", "a");
  queue_->put("a2", "2", "a");
  std::atomic<int> failures = 0;
  run(answering([&](const delivered& one) {
        if (one.id == "1" && ++failures < 3) return one_of(inbox_result::failed, milliseconds(10));
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  EXPECT_EQ(queue_->acknowledged, (std::vector<std::string>{"a1", "a2"}));
  EXPECT_EQ(queue_->give_back_calls, 0u);
}

// --- dead letters -------------------------------------------------------------------------------

TEST_F(subscription_hold, a_dead_letter_that_nobody_wants_is_dropped) {
  params_.dead_letters.reset();
  params_.drop_dead_letters = true;
  queue_->put("a", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_EQ(queue_->acknowledged, std::vector<std::string>{"a"});
}

TEST_F(subscription_hold, a_dead_letter_that_is_refused_also_without_its_headers_is_not_lost) {
  queue_->traits.delays = true;
  dead_->refuse_publish.assign(3, error(errc::invalid_argument, "a header, the payload"));
  queue_->put("bad", "1");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  EXPECT_EQ(dead_->published.size(), 1u);
  EXPECT_EQ(count(messaging::subscription_event_kind::not_settled), 1u);
}

TEST_F(subscription_hold, a_dead_letter_that_is_published_ends_the_long_pauses) {
  messaging::dead_letters letters(params_.dead_letters, "billing", milliseconds(10));
  const messaging::message received{.payload = "a"};
  const auto outcome = one_of(inbox_result::dead);
  const auto publish = [&] { return letters.publish(received, "1", outcome).has_value(); };
  const auto fail = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      dead_->refuse_publish.emplace_back(errc::broker_unreachable, "away");
    }
  };
  const auto pauses_shortly = [&] {
    fail(8);  // the next pause would be of 2.5 s
    wait_until("the first", publish);
    fail(1);
    EXPECT_FALSE(publish());
    const auto begin = base::boot_now();
    wait_until("the second", publish);
    return base::boot_now() - begin < milliseconds(2'300);
  };
  // A busy machine is late at some times.
  EXPECT_TRUE(pauses_shortly() || pauses_shortly() || pauses_shortly());
}

}  // namespace
}  // namespace onceguard::testing
