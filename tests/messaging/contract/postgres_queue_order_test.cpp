// The order of a key, with many consumers at once.
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "messaging/contract/postgres_queue_fixture.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;
using messaging::consumer;
using messaging::delivery;
using messaging::message;

constexpr int keys = 20;

/// What the consumers of one test have seen together.
struct observed {
  std::array<std::atomic<int>, keys> held{};
  std::array<std::atomic<int>, keys> next{};
  std::atomic<int> twice_held = 0;
  std::atomic<int> out_of_order = 0;
  std::atomic<int> acknowledged = 0;
};

class postgres_queue_order : public postgres_queue {
 protected:
  /// The message "KEY:NUMBER".
  static std::pair<int, int> numbers(const delivery& got) {
    const auto& text = got.received.payload;
    return {std::stoi(text), std::stoi(text.substr(text.find(':') + 1))};
  }
  [[nodiscard]] static message numbered(int key, int number) {
    return text(std::to_string(key) + ':' + std::to_string(number), "key " + std::to_string(key));
  }

  /// Settles one in four some other way first.
  static void handle(consumer& receiver, const delivery& got, observed& all, unsigned chance,
                     bool in_order) {
    const auto [number, position] = numbers(got);
    const auto key = static_cast<std::size_t>(number);
    if (++all.held[key] != 1) ++all.twice_held;
    if (in_order && all.next[key] != position) ++all.out_of_order;
    const bool back = chance % 4 == 0;
    if (!back) ++all.next[key];
    --all.held[key];
    if (back) return done(receiver.give_back(got.tag, milliseconds(chance % 3 * 5)));
    done(receiver.acknowledge(got.tag));
    ++all.acknowledged;
  }

  /// Eight consumers, until so many are acknowledged.
  void consume(const std::string& more, observed& all, int total, bool in_order) const {
    std::vector<std::jthread> consumers;
    for (unsigned i = 0; i < 8; ++i) {
      consumers.emplace_back([&, i] {
        std::minstd_rand chances(i + 1);
        const auto receiver = connect(more, 1 + 5 * i);
        const auto until = base::boot_now() + 60s;
        while (all.acknowledged < total && base::boot_now() < until) {
          for (const auto& got : checked(receiver->receive(100, 300ms))) {
            handle(*receiver, got, all, static_cast<unsigned>(chances()) / 7, in_order);
          }
        }
      });
    }
  }
};

TEST_F(postgres_queue_order, eight_consumers_keep_it) {
  constexpr int each = 60;
  observed all;
  std::jthread publishing([this] {
    const auto publisher = sender();
    for (int number = 0; number < each; number += 3) {
      std::vector<message> batch;
      for (int i = 0; i < 3; ++i) {
        for (int key = 0; key < keys; ++key) batch.push_back(numbered(key, number + i));
      }
      done(publisher->publish(batch));
    }
  });
  consume("", all, each * keys, true);
  EXPECT_EQ(all.acknowledged, each * keys);
  EXPECT_EQ(all.twice_held, 0);
  EXPECT_EQ(all.out_of_order, 0);
}

TEST_F(postgres_queue_order, programs_that_insert_one_by_one_keep_it) {
  constexpr int each = 30;
  observed all;
  std::vector<std::jthread> programs;
  for (int half = 0; half < 2; ++half) {
    programs.emplace_back([this, half] {
      sql_session program(server().url());
      for (int number = 0; number < each; ++number) {
        for (int key = half; key < keys; key += 2) {
          const auto one = numbered(key, number);
          program.run("INSERT INTO " + table() + " (order_key, payload) VALUES ('" + one.order_key +
                      "', '" + one.payload + "')");
        }
      }
    });
  }
  consume("", all, each * keys, true);
  EXPECT_EQ(all.acknowledged, each * keys);
  EXPECT_EQ(all.twice_held, 0);
  EXPECT_EQ(all.out_of_order, 0);
}

// Lower ids are committed behind higher ones, and delays let later messages pass: no order is left,
// but nobody holds two of a key.
TEST_F(postgres_queue_order, no_key_is_held_twice_whatever_comes_late) {
  constexpr int each = 30;
  for (const std::string more : {"", "&order=skip"}) {
    observed all;
    std::jthread publishing([this] {
      sql_session early(server().url());
      sql_session late(server().url());
      const auto insert = "INSERT INTO " + table() + " (order_key, payload) VALUES ";
      for (int number = 0; number < each; number += 2) {
        early.run("BEGIN");
        for (int key = 0; key < keys; ++key) {
          const auto one = numbered(key, number);
          const auto row = "('" + one.order_key + "', '" + one.payload + "')";
          early.run(insert + row);
          late.run(insert + row);
        }
        early.run("COMMIT");
      }
    });
    consume(more, all, each * keys, false);
    EXPECT_EQ(all.acknowledged, each * keys) << more;
    EXPECT_EQ(all.twice_held, 0) << more;
  }
}

// Another consumer's statement is under way, and nobody can see it yet.
TEST_F(postgres_queue_order, a_hold_that_is_not_committed_yet_counts) {
  publish({text("1", "k"), text("2", "k")});
  sql_session other(server().url());
  other.run("BEGIN; UPDATE " + table() +
            " SET held_by = 'x', visible_at = now() + interval '1 h' WHERE payload = '2'");
  const auto receiver = connect();
  auto got = std::async(std::launch::async, [&] { return checked(receiver->receive(1, 300ms)); });
  sql_session activity(server().url());
  const auto waiting =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%" +
      table() + "%'";
  wait_until("the consumer to wait for it", [&] {
    return activity.value(waiting) == "1" || got.wait_for(0s) == std::future_status::ready;
  });
  other.run("COMMIT");
  EXPECT_TRUE(got.get().empty());
  other.run("DELETE FROM " + table() + " WHERE payload = '2'");
  EXPECT_EQ(take_one(*receiver).received.payload, "1");
}

TEST_F(postgres_queue_order, one_of_a_key_is_held_at_a_time) {
  publish({text("1", "k"), text("2", "k"), text("3"), text("4", "l")});
  const auto one = connect();
  const auto other = connect();
  const auto got = checked(one->receive(10, long_wait));
  ASSERT_EQ(got.size(), 3u);  // 1, 3, 4
  expect_none(*other);
  done(one->acknowledge(got[0].tag));
  EXPECT_EQ(take_one(*other).received.payload, "2");
}

TEST_F(postgres_queue_order, what_waits_for_its_delay_blocks_its_key_unless_skipped) {
  publish({text("1", "k"), text("2", "k"), text("3", "k")});
  const auto receiver = connect();
  const auto held = take_one(*receiver);
  const auto begin = base::boot_now();
  done(receiver->give_back(held.tag, 2s));
  const auto first = take_one(*receiver);
  EXPECT_GE(base::boot_now() - begin, 1'950ms);
  EXPECT_EQ(first.received.payload, "1");
  done(receiver->give_back(first.tag, 1h));
  const auto skipping = connect("&order=skip");
  const auto second = take_one(*skipping);
  EXPECT_EQ(second.received.payload, "2");
  expect_none(*skipping);  // still one at a time
  done(skipping->give_back(second.tag, 1h));
  const auto third = take_one(*skipping);
  EXPECT_EQ(third.received.payload, "3");
  done(skipping->acknowledge(third.tag));
  sql_session(server().url())
      .run("UPDATE " + table() + " SET visible_at = now() WHERE payload = '2'");
  EXPECT_EQ(take_one(*skipping).received.payload, "2");
}

TEST_F(postgres_queue_order, a_message_that_was_published_for_later_comes_later) {
  sql_session program(server().url());
  const auto begin = base::boot_now();
  program.run("INSERT INTO " + table() +
              " (order_key, payload, visible_at) VALUES ('k', 'x', now()"
              " + interval '700 ms'), ('k', 'y', NULL)");
  const auto receiver = connect();
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
  EXPECT_GE(base::boot_now() - begin, 650ms);
}

TEST_F(postgres_queue_order, a_long_row_behind_one_key_hides_nobody) {
  sql_session program(server().url());
  program.run("INSERT INTO " + table() +
              " (order_key, payload) SELECT 'hot', '' FROM generate_series(1, 30000)");
  const auto receiver = connect();
  EXPECT_EQ(take_one(*receiver).received.order_key, "hot");
  publish({text("x", "cold")});
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
  expect_none(*receiver);
  // Those behind are not read again.
  const auto left = "SELECT count(*) FROM " + table() + " WHERE in_front AND held_by IS NULL";
  EXPECT_EQ(program.value(left), "0");
}

TEST_F(postgres_queue_order, who_deletes_by_hand_lets_the_next_one_go_on) {
  publish({text("1", "k"), text("2", "k"), text("3", "k")});
  const auto receiver = connect();
  static_cast<void>(take_one(*receiver));
  sql_session program(server().url());
  program.run("DELETE FROM " + table() + " WHERE payload IN ('1', '2')");
  EXPECT_EQ(take_one(*receiver).received.payload, "3");
}

}  // namespace
}  // namespace onceguard::testing
