// What waits is held here, and the intake stops while what the work needs is away.
#include <atomic>
#include <map>

#include "messaging/subscription/subscription_fixture.hpp"

namespace onceguard::testing {
namespace {

using happening = messaging::subscription_event_kind;

inbox_outcome away() {
  auto out = one_of(inbox_result::failed);
  out.away = true;
  return out;
}

class subscription_waiting : public subscription_fixture {
 protected:
  subscription_waiting() {
    // A broker that can delay, and counts: as NATS and SQS do.
    queue_->traits.delays = true;
    queue_->traits.counts_returns = true;
    queue_->delivery_limit = 3;
    params_.batch = 1;
    params_.retry = milliseconds(2);
  }
  [[nodiscard]] std::size_t received() const {
    const std::lock_guard locked(queue_->mutex);
    return queue_->held.size() + queue_->acknowledged.size();
  }
  [[nodiscard]] bool dropped() const {
    const std::lock_guard locked(queue_->mutex);
    return !queue_->lost_at_limit.empty();
  }
  void put(int count) const {
    for (int i = 0; i < count; ++i) queue_->put(std::to_string(i), "m" + std::to_string(i));
  }
};

TEST_F(subscription_waiting, failures_beyond_the_brokers_limit_lose_nothing) {
  put(20);
  std::map<std::string, int> attempts;
  run(answering([&](const delivered& one) {
        const bool last = ++attempts[one.id] == 6;
        return one_of(last ? inbox_result::handled : inbox_result::failed, milliseconds(1));
      }),
      [&] { return queue_->settled() == 20 || dropped(); })
      .value();
  EXPECT_TRUE(queue_->lost_at_limit.empty());
  EXPECT_EQ(queue_->give_back_calls, 0u) << "nothing is given back before the end";
}

TEST_F(subscription_waiting, while_the_store_is_away_nothing_is_given_back_and_little_received) {
  put(40);
  std::atomic<int> tries = 0;
  const auto worker = [&]() -> batch_worker {
    return [&](std::span<const delivered> batch) -> result<outcomes> {
      if (++tries <= 6) return error(errc::store_unreachable, "away");
      return outcomes(batch.size(), one_of(inbox_result::handled));
    };
  };
  std::atomic<std::size_t> received_then = 0;
  params_.on_event = [&](const subscription_event& change) {
    if (change.kind == happening::circuit_closed) received_then = received();
  };
  run(worker, [&] { return queue_->settled() == 40 || dropped(); }).value();
  EXPECT_TRUE(queue_->lost_at_limit.empty());
  EXPECT_EQ(queue_->give_back_calls, 0u);
  EXPECT_LE(received_then, params_.queue.in_flight) << "the intake stood still";
}

TEST_F(subscription_waiting, one_probe_at_a_time_runs_while_the_work_is_away) {
  params_.workers = 4;
  put(8);
  std::atomic<bool> open = false;
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> probes = 0;
  params_.on_event = [&](const subscription_event& change) {
    if (change.kind == happening::circuit_open) open = true;
  };
  run(answering([&](const delivered&) {
        if (open) {
          // Those of before may still end; from the second probe on there are none.
          if (++probes > 6) return one_of(inbox_result::handled);
          const int now = ++inside;
          if (probes > 4) most = std::max(most.load(), now);
          --inside;
        }
        return away();
      }),
      [&] { return queue_->settled() == 8; })
      .value();
  EXPECT_LE(most, 1);
  EXPECT_TRUE(queue_->lost_at_limit.empty());
}

TEST_F(subscription_waiting, attempts_do_not_count_while_the_work_is_away) {
  put(1);
  std::vector<std::uint32_t> excused;
  run(answering([&](const delivered& one) {
        excused.push_back(one.excused);
        return excused.size() < 5 ? away() : one_of(inbox_result::handled);
      }),
      [&] { return queue_->settled() == 1; })
      .value();
  EXPECT_EQ(excused, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST_F(subscription_waiting, a_probe_is_one_that_was_not_tried_even_if_it_has_to_be_received) {
  params_.queue.in_flight = 1;
  put(2);
  std::vector<std::string> tried;
  run(answering([&](const delivered& one) {
        tried.push_back(one.id);
        auto out = tried.size() == 1 ? away() : one_of(inbox_result::handled);
        out.retry_after = milliseconds(1);  // by the time of a probe the first one may run again
        return out;
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  EXPECT_EQ(tried, (std::vector<std::string>{"m0", "m1", "m0"}));
}

TEST_F(subscription_waiting, who_seems_away_while_others_are_handled_is_to_blame) {
  put(5);
  std::uint32_t blamed = 0;
  run(answering([&](const delivered& one) {
        if (one.id != "m0") return one_of(inbox_result::handled);
        blamed = one.blamed;
        return blamed > 0 ? one_of(inbox_result::dead) : away();
      }),
      [&] { return queue_->settled() == 5; })
      .value();
  EXPECT_EQ(blamed, 1u);
}

TEST_F(subscription_waiting, one_that_always_seems_away_stops_nobody_and_is_dead_in_the_end) {
  params_.queue.in_flight = 1;
  put(1);
  std::atomic<int> tries = 0;
  run(answering([&](const delivered& one) {
        if (one.id != "m0") return one_of(inbox_result::handled);
        queue_->put("good", "good" + std::to_string(++tries));
        if (one.blamed + 1 == 3) return one_of(inbox_result::dead);
        auto out = away();
        // Long beside the pause of a probe, which would else try it again before the good one.
        out.retry_after = milliseconds(100);
        return out;
      }),
      [&] { return queue_->settled() == 4; })
      .value();
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(dead_->published.size(), 1u);
}

TEST_F(subscription_waiting, who_is_blameless_counts_no_attempts_though_others_are_handled) {
  put(1);
  std::vector<std::uint32_t> blamed;
  run(answering([&](const delivered& one) {
        if (one.id != "m0") return one_of(inbox_result::handled);
        blamed.push_back(one.blamed);
        if (blamed.size() == 5) return one_of(inbox_result::handled);
        queue_->put("good", "good" + std::to_string(blamed.size()));
        auto out = away();
        out.blameless = true;
        return out;
      }),
      [&] { return queue_->settled() == 5; })
      .value();
  EXPECT_EQ(blamed, std::vector<std::uint32_t>(5, 0));
}

TEST_F(subscription_waiting, who_seemed_away_waits_for_its_back_off) {
  put(2);
  std::vector<base::boot_clock::time_point> times;
  run(answering([&](const delivered& one) {
        if (one.id != "m0") return one_of(inbox_result::handled);
        times.push_back(base::boot_now());
        if (times.size() == 2) return one_of(inbox_result::handled);
        auto out = away();
        out.retry_after = milliseconds(150);
        return out;
      }),
      [&] { return queue_->settled() == 2; })
      .value();
  EXPECT_GE(times.at(1) - times.at(0), milliseconds(150));
}

TEST_F(subscription_waiting, the_end_stops_the_intake_before_it_gives_back) {
  put(3);
  run(answering(
          [](const delivered&) { return one_of(inbox_result::failed, milliseconds(3'600'000)); }),
      [&] { return count(happening::settled) == 3; })
      .value();
  EXPECT_EQ(queue_->given_back.size(), 3u);
  EXPECT_EQ(queue_->given_back_amid_intake, 0u);
}

TEST_F(subscription_waiting, what_waits_at_the_end_on_its_last_delivery_is_a_dead_letter) {
  queue_->traits.deliveries_max = 3;
  queue_->traits.limit_name = "max_deliver 3";
  put(2);
  queue_->waiting[1].count = 3;
  run(answering(
          [](const delivered&) { return one_of(inbox_result::failed, milliseconds(3'600'000)); }),
      [&] { return count(happening::settled) == 2; })
      .value();
  EXPECT_EQ(queue_->given_back, std::vector<std::string>{"0"});
  EXPECT_TRUE(queue_->lost_at_limit.empty());
  ASSERT_EQ(dead_->published.size(), 1u);
  const auto* const reason = messaging::header_of(dead_->published[0], messaging::reason_header);
  ASSERT_NE(reason, nullptr);
  EXPECT_NE(reason->find("max_deliver 3"), std::string::npos) << *reason;
}

TEST_F(subscription_waiting, pauses_grow_while_the_store_is_away) {
  put(1);
  params_.retry = milliseconds(5);
  std::atomic<int> tries = 0;
  const auto begin = base::boot_now();
  const auto worker = [&]() -> batch_worker {
    return [&](std::span<const delivered> batch) -> result<outcomes> {
      if (++tries <= 5) return error(errc::store_unreachable, "away");
      return outcomes(batch.size(), one_of(inbox_result::handled));
    };
  };
  run(worker, [&] { return queue_->settled() == 1; }).value();
  EXPECT_GE(base::boot_now() - begin, milliseconds(5 + 10 + 20 + 40 + 80));
  EXPECT_EQ(count(happening::circuit_open), 1u);
  EXPECT_EQ(count(happening::circuit_closed), 1u);
}

TEST_F(subscription_waiting, where_too_many_wait_no_more_are_received) {
  params_.waiting = 4;
  queue_->limits_what_is_held = false;
  put(40);
  run(answering(
          [](const delivered&) { return one_of(inbox_result::failed, milliseconds(3'600'000)); }),
      [&] { return received() == 12; })
      .value();
  EXPECT_EQ(queue_->held_most, 12u) << "in_flight and waiting";
}

/// A message runs while its connection is lost, and it comes again on the next one.
class subscription_lost : public subscription_waiting {
 protected:
  /// How many messages of the key or the id ran at once; `key` may be empty.
  int most_at_once(const std::string& key) {
    params_.workers = 3;
    queue_->delivery_limit = 0;
    queue_->put("first", "1", key);
    if (!key.empty()) queue_->put("second", "2", key);
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::atomic<int> others = 0;
    std::atomic<bool> lost = false;
    run(answering([&](const delivered& one) {
          if (one.id == "other") {
            ++others;
            return one_of(inbox_result::handled);
          }
          most = std::max(most.load(), ++running);
          if (one.id == "1" && !lost.exchange(true)) lose_the_connection(others);
          --running;
          return one_of(inbox_result::handled);
        }),
        [&] { return queue_->settled() == (key.empty() ? 2u : 3u); })
        .value();
    EXPECT_EQ(queue_->connections, 2u);
    return most;
  }

 private:
  /// Until a message was handled that came on the next connection behind all others.
  void lose_the_connection(const std::atomic<int>& others) {
    {
      const std::lock_guard locked(queue_->mutex);
      queue_->refuse_receive = {error(errc::broker_unreachable, "the line broke")};
    }
    wait_until("the next connection", [&] {
      const std::lock_guard locked(queue_->mutex);
      return queue_->connections == 2 && queue_->waiting.empty();
    });
    queue_->put("other", "other");
    wait_until("one that came later", [&] { return others == 1; });
  }
};

TEST_F(subscription_lost, the_message_does_not_run_beside_itself) {
  EXPECT_EQ(most_at_once({}), 1);
}

TEST_F(subscription_lost, the_next_one_of_its_key_does_not_run_beside_it) {
  EXPECT_EQ(most_at_once("key"), 1);
}

}  // namespace
}  // namespace onceguard::testing
