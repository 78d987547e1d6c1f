// What a subscription does when the broker refuses, a worker misbehaves, or a message is bad.
#include <atomic>

#include "messaging/subscription/subscription_fixture.hpp"

namespace onceguard::testing {
namespace {

class subscription_faults : public subscription_fixture {
 protected:
  static error broken() { return {errc::broker_unreachable, "the line broke"}; }
  static error refused() { return {errc::conflict, "refused"}; }
  static std::function<batch_worker()> handling_all() {
    return answering([](const delivered&) { return one_of(inbox_result::handled); });
  }
  [[nodiscard]] bool waits(const std::function<bool(scripted_queue&)>& condition) const {
    const std::lock_guard locked(queue_->mutex);
    return condition(*queue_);
  }
  [[nodiscard]] std::size_t held() const {
    const std::lock_guard locked(queue_->mutex);
    return queue_->held.size();
  }
};

TEST_F(subscription_faults, a_worker_that_forgets_an_outcome_has_handled_nothing) {
  for (int i = 0; i < 4; ++i) queue_->put(std::to_string(i), std::to_string(i));
  std::atomic<int> made = 0;
  const auto worker = [&]() -> batch_worker {
    const bool forgetful = ++made == 1;
    return [forgetful](std::span<const delivered> batch) -> result<outcomes> {
      return outcomes(batch.size() - (forgetful ? 1 : 0), one_of(inbox_result::handled));
    };
  };
  run(worker, [&] { return queue_->settled() == 4; }).value();
  EXPECT_EQ(count(messaging::subscription_event_kind::store_away), 1u);
}

TEST_F(subscription_faults, an_id_that_can_not_be_found_ends_nothing) {
  params_.id_of = [](const messaging::message& one) -> std::optional<std::string> {
    if (one.payload == "bad") throw std::runtime_error("no JSON");
    return one.payload;
  };
  queue_->put("bad", "1");
  queue_->put("good", "2");
  run(answering([](const delivered& one) {
        return one_of(one.id.empty() ? inbox_result::dead : inbox_result::handled);
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  EXPECT_EQ(dead_->published.size(), 1u);
}

TEST_F(subscription_faults, a_bad_message_fails_a_batch_once_and_then_itself_alone) {
  queue_->traits.delays = true;
  params_.retry = milliseconds(1);
  for (int i = 0; i < 4; ++i) queue_->put(std::to_string(i), std::to_string(i));
  const auto worker = []() -> batch_worker {
    return [](std::span<const delivered> batch) -> result<outcomes> {
      for (const auto& one : batch) {
        if (one.id == "2") return error(errc::record_unreadable, "damaged");
      }
      return outcomes(batch.size(), one_of(inbox_result::handled));
    };
  };
  run(worker, [&] { return queue_->settled() == 3; }).value();
  EXPECT_EQ(std::count(queue_->acknowledged.begin(), queue_->acknowledged.end(), "2"), 0);
  EXPECT_EQ(held(), 0u) << "given back";
}

TEST_F(subscription_faults, a_consumer_that_can_not_receive_is_replaced_and_said) {
  queue_->refuse_receive = {refused(), refused()};
  queue_->put("a", "1");
  run(handling_all(), [&] { return queue_->settled() == 1; }).value();
  EXPECT_EQ(queue_->connections, 3u);
  EXPECT_EQ(count(messaging::subscription_event_kind::broker_away), 2u);
}

TEST_F(subscription_faults, a_broker_that_fails_after_each_connection_is_asked_less_and_less) {
  for (int i = 0; i < 5; ++i) queue_->refuse_receive.push_back(broken());
  queue_->put("a", "1");
  const auto begin = base::boot_now();
  run(handling_all(), [&] { return queue_->settled() == 1; }).value();
  EXPECT_GE(base::boot_now() - begin, milliseconds(5 + 10 + 20 + 40 + 80));
}

TEST_F(subscription_faults, a_message_that_the_broker_does_not_take_back_is_tried_again_here) {
  queue_->traits.delays = true;
  queue_->refuse_give_back = {refused(), refused()};
  queue_->put("a", "1");
  std::atomic<int> runs = 0;
  run(answering([&](const delivered&) {
        return one_of(++runs == 1 ? inbox_result::failed : inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(held(), 0u);
}

TEST_F(subscription_faults, an_outcome_that_the_broker_did_not_take_is_said_with_its_words) {
  const std::string words = "the broker says at some length why it did not take the outcome";
  queue_->refuse_acknowledge = {error(errc::not_found, words)};
  std::string reported_text;
  std::atomic<bool> reported = false;
  params_.on_event = [&](const subscription_event& happened) {
    if (happened.kind != messaging::subscription_event_kind::not_settled) return;
    reported_text = happened.text;
    reported = true;
  };
  queue_->put("a", "1");
  run(handling_all(), [&] { return reported.load(); }).value();
  EXPECT_EQ(reported_text, words);
}

TEST_F(subscription_faults, a_refused_extension_does_not_lose_the_message) {
  queue_->traits.hold = milliseconds(3);
  params_.batch = 1;
  queue_->put("a", "1");
  queue_->put("b", "2");
  for (int i = 0; i < 10; ++i) queue_->refuse_extend.push_back(refused());
  run(answering([&](const delivered&) {
        wait_until("the refusals",
                   [&] { return waits([](auto& queue) { return queue.refuse_extend.empty(); }); });
        return one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 2; })
      .value();
}

TEST_F(subscription_faults, the_end_asks_a_broken_connection_once) {
  params_.batch = 1;
  for (int i = 0; i < 5; ++i) queue_->put(std::to_string(i), std::to_string(i));
  for (int i = 0; i < 5; ++i) queue_->refuse_give_back.push_back(broken());
  std::atomic<bool> go = false;
  std::stop_source stop;
  std::jthread loop([&] {
    run_subscription(params_, stop.get_token(), answering([&](const delivered&) {
                       go.wait(false);
                       return one_of(inbox_result::handled);
                     }))
        .value();
  });
  wait_until("all", [&] { return held() == 5; });
  stop.request_stop();
  wait_until("the end of the connection",
             [&] { return count(messaging::subscription_event_kind::broker_away) == 1; });
  go = true;
  go.notify_all();
  loop.join();
  EXPECT_EQ(queue_->give_back_calls, 1u) << "each would wait for its timeout";
}

TEST_F(subscription_faults, a_broken_connection_is_noticed_when_a_message_is_given_back) {
  queue_->traits.delays = true;
  queue_->refuse_give_back = {broken()};
  queue_->put("a", "1");
  std::atomic<int> runs = 0;
  run(answering([&](const delivered&) {
        return one_of(++runs == 1 ? inbox_result::failed : inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(queue_->connections, 2u);
}

TEST_F(subscription_faults, the_end_does_not_wait_for_a_worker_that_pauses) {
  params_.batch = 1;
  params_.retry = milliseconds(20'000);
  queue_->put("a", "1");
  queue_->put("b", "2");
  const auto begin = base::boot_now();
  const auto worker = []() -> batch_worker { throw std::runtime_error("no store"); };
  run(worker, [&] { return count(messaging::subscription_event_kind::store_away) == 1; }).value();
  EXPECT_LT(base::boot_now() - begin, milliseconds(10'000));
  EXPECT_EQ(queue_->given_back.size(), 2u);
}

TEST_F(subscription_faults, a_worker_whose_end_takes_long_keeps_nobody) {
  params_.workers = 2;
  params_.batch = 1;
  params_.retry = milliseconds(1);
  std::atomic<bool> ended = false;
  struct slow_end {
    std::atomic<bool>& go;
    ~slow_end() { go.wait(false); }
  };
  std::atomic<int> made = 0;
  const auto worker = [&]() -> batch_worker {
    if (++made > 1) {
      return [](std::span<const delivered> batch) -> result<outcomes> {
        return outcomes(batch.size(), one_of(inbox_result::handled));
      };
    }
    return
        [held = std::make_shared<slow_end>(ended)](std::span<const delivered>) -> result<outcomes> {
          return error(errc::store_unreachable, "away");
        };
  };
  queue_->put("a", "1");
  run(worker, [&] {
    if (queue_->settled() < 1) return false;
    ended = true;
    ended.notify_all();
    return true;
  }).value();
}

TEST_F(subscription_faults, dead_letters_that_can_not_be_stored_keep_nobody_waiting) {
  params_.batch = 1;
  params_.retry = milliseconds(60'000);
  for (int i = 0; i < 5; ++i) dead_->refuse_publish.push_back(broken());
  for (int i = 0; i < 4; ++i) queue_->put("bad", "b" + std::to_string(i));
  queue_->put("good", "g");
  run(answering([](const delivered& one) {
        return one_of(one.id == "g" ? inbox_result::handled : inbox_result::dead);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(dead_->publish_calls, 1u) << "each would wait for its timeout";
  EXPECT_EQ(count(messaging::subscription_event_kind::not_settled), 4u);
}

TEST_F(subscription_faults, the_reason_of_a_dead_letter_fits_a_header) {
  {
    queue_->put("a", "1");
    const std::lock_guard locked(queue_->mutex);
    queue_->waiting.back().received.headers = {{"Onceguard-Reason", "the sender's"}, {"x", "y"}};
  }
  queue_->put("b", "2");
  run(answering([](const delivered& one) {
        auto out = one_of(inbox_result::dead);
        out.reason = one.id == "1" ? "ERROR: no\r\nInjected: x\n" : std::string(100'000, 'x');
        return out;
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  ASSERT_EQ(dead_->published.size(), 2u);
  const auto& first = dead_->published[0];
  EXPECT_EQ(*messaging::header_of(first, messaging::reason_header), "ERROR: no  Injected: x");
  EXPECT_EQ(*messaging::header_of(first, "x"), "y");
  EXPECT_LE(messaging::header_of(dead_->published[1], messaging::reason_header)->size(), 1'024u);
}

TEST_F(subscription_faults, a_dead_letter_whose_headers_are_refused_goes_without_them) {
  queue_->put("bad", "b");
  queue_->waiting.back().received.headers = {{"of another", "broker"}};
  dead_->refuse_publish.assign(2, error(errc::invalid_argument, "a space in a header's name"));
  run(answering([](const delivered&) {
        auto out = one_of(inbox_result::dead);
        out.reason = "poison";
        return out;
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  const auto& sent = dead_->published.at(0);
  EXPECT_EQ(sent.payload, "bad");
  EXPECT_EQ(*messaging::property_of(sent, "message_id"), "b");
  EXPECT_EQ(messaging::header_of(sent, "of another"), nullptr);
  EXPECT_EQ(*messaging::header_of(sent, messaging::key_header), "b");
  EXPECT_EQ(*messaging::header_of(sent, messaging::reason_header),
            "poison (without its headers and key, as they were refused: a space in a header's "
            "name)");
}

TEST_F(subscription_faults, a_dead_letter_with_too_many_headers_keeps_those_of_its_sender) {
  queue_->put("full", "b");
  queue_->waiting.back().received.headers = {{"tenant", "ada"}};
  dead_->refuse_publish.emplace_back(errc::conflict, "ten attributes at most");
  run(answering([](const delivered&) { return one_of(inbox_result::dead); }), [&] {
    return queue_->settled() == 1;
  }).value();
  const auto& sent = dead_->published.at(0);
  EXPECT_EQ(*messaging::header_of(sent, "tenant"), "ada");
  EXPECT_EQ(*messaging::header_of(sent, messaging::reason_header), "because");
  EXPECT_EQ(sent.headers.size(), 2u);
}

TEST_F(subscription_faults, a_message_that_fails_without_a_reason_has_a_dead_letter) {
  queue_->put("a", "1");
  run(answering([](const delivered&) {
        auto out = one_of(inbox_result::dead);
        out.reason = "\n";
        return out;
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(*messaging::header_of(dead_->published.at(0), messaging::reason_header),
            "no reason was given");
}

TEST_F(subscription_faults, order_stop_lets_messages_without_a_key_wait_for_none) {
  params_.order = messaging::order_rule::stop;
  for (int i = 0; i < 20; ++i) queue_->put("poison", "p" + std::to_string(i));
  queue_->put("good", "g", "key");
  run(answering([](const delivered& one) {
        const bool good = one.source->received.payload == "good";
        return good ? one_of(inbox_result::handled)
                    : one_of(inbox_result::failed, milliseconds(3'600'000));
      }),
      [&] { return queue_->settled() == 1; })
      .value();
}

}  // namespace
}  // namespace onceguard::testing
