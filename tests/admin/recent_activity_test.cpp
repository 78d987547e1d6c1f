#include "admin/recent_activity.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace onceguard::admin {
namespace {

/// Where lines of the log belong.
struct counting_sink final : base::log_sink {
  void write(const base::event_info& /*event*/, base::log_level /*level*/,
             std::span<const base::log_field> /*fields*/) override {
    ++lines;
  }
  std::size_t lines = 0;
};

http::request_report keyed_report(std::string_view key) {
  http::request_report out;
  out.outcome = http::request_outcome::replayed;
  out.key = key;
  out.status = 201;
  return out;
}

void log_to(recent_activity& recent, base::event id,
            std::initializer_list<base::log_field> fields) {
  const auto& info = base::info_of(id);
  recent.write(info, info.level, {fields.begin(), fields.size()});
}

TEST(recent_activity_test, keeps_nothing_before_it_begins_and_passes_every_line_on) {
  counting_sink sink;
  recent_activity recent(sink);
  log_to(recent, base::event::draining, {});
  EXPECT_EQ(recent.latest(), 0u);
  recent.begin();
  log_to(recent, base::event::draining, {{"by", "SIGTERM"}, {"at_most", 7}});
  log_to(recent, base::event::request, {});
  EXPECT_EQ(sink.lines, 3u);
  const auto events = recent.events_after(0);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "draining");
  ASSERT_EQ(events[0].fields.size(), 2u);
  EXPECT_EQ(std::get<std::string>(events[0].fields[0].second), "SIGTERM");
  EXPECT_EQ(std::get<std::int64_t>(events[0].fields[1].second), 7);
  EXPECT_TRUE(recent.events_after(1).empty());
}

TEST(recent_activity_test, requests_and_events_are_numbered_in_one_row) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  recent.finished(keyed_report("a"));
  log_to(recent, base::event::draining, {});
  recent.finished(keyed_report("b"));
  EXPECT_EQ(recent.find(1)->key.view(), "a");
  EXPECT_FALSE(recent.find(2));
  EXPECT_EQ(recent.find(3)->key.view(), "b");
  EXPECT_EQ(recent.find(3)->status, 201u);
  EXPECT_FALSE(recent.find(4));
  EXPECT_FALSE(recent.find(0));
}

TEST(recent_activity_test, the_oldest_make_room_and_long_texts_lose_their_end) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  const std::string path(1'000, 'p');
  for (std::size_t i = 0; i < recent_activity::requests_max + 1; ++i) {
    const auto key = std::to_string(i);
    auto report = keyed_report(key);
    report.path = path;
    recent.finished(report);
  }
  EXPECT_FALSE(recent.find(1));
  ASSERT_TRUE(recent.find(2));
  EXPECT_EQ(recent.find(2)->key.view(), "1");
  EXPECT_EQ(recent.find(2)->path.view(), path.substr(0, 192));
  EXPECT_EQ(recent.find(recent.latest())->key.view(),
            std::to_string(recent_activity::requests_max));
}

TEST(recent_activity_test, a_flood_of_one_event_leaves_room_for_others) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  const base::event_info* flood = nullptr;
  for (const auto& one : base::events()) {
    if (one.recurring && one.id != base::event::request) flood = &one;
  }
  ASSERT_NE(flood, nullptr);
  log_to(recent, base::event::draining, {});
  // A second may end amid them.
  for (int i = 0; i < 5'000; ++i) recent.write(*flood, flood->level, {});
  EXPECT_EQ(sink.lines, 5'001u);
  EXPECT_LE(recent.latest(), 1 + 2 * recent_activity::recurring_max);
  EXPECT_EQ(recent.events_after(0).front().name, "draining");
}

TEST(recent_activity_test, what_changes_for_the_process_outlasts_what_comes_with_requests) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  log_to(recent, base::event::reloaded, {{"by", "alice"}});
  log_to(recent, base::event::store_away, {{"store", "postgres"}});
  for (std::size_t i = 0; i < recent_activity::events_max; ++i) {
    log_to(recent, base::event::outcome_unknown, {{"record", "0a"}});
    log_to(recent, base::event::checkpoint_written, {});
  }
  const auto changes = recent.changes_since(0);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].name, "store-away");
  EXPECT_EQ(changes[1].name, "reloaded");
  EXPECT_TRUE(recent.changes_since(changes[0].at_wall + 1).empty());
  for (std::size_t i = 0; i < recent_activity::changes_max; ++i) {
    log_to(recent, base::event::store_back, {});
  }
  EXPECT_EQ(recent.changes_since(0).size(), recent_activity::changes_max);
  EXPECT_EQ(recent.changes_since(0).back().name, "store-back");
}

TEST(recent_activity_test, a_reader_beside_many_threads_sees_whole_lines) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&recent, letter = static_cast<char>('a' + i)] {
      const std::string key(200, letter);
      for (int n = 0; n < 5'000; ++n) recent.finished(keyed_report(key));
    });
  }
  std::thread reader([&] {
    while (!done) {
      for (auto number = recent.latest(), end = number - std::min<std::uint64_t>(number, 100);
           number > end; --number) {
        const auto found = recent.find(number);
        if (!found) continue;
        const auto key = found->key.view();
        EXPECT_EQ(key.size(), 200u);
        EXPECT_EQ(key.find_first_not_of(key.front()), key.npos);
        EXPECT_EQ(found->number, number);
      }
    }
  });
  for (auto& one : writers) one.join();
  done = true;
  reader.join();
  EXPECT_EQ(recent.latest(), 20'000u);
}

record_id record_of(unsigned char first) {
  record_id out{};
  out.front() = first;
  out.back() = 7;
  return out;
}

TEST(recent_activity_test, repeats_of_a_record_outlast_the_texts_of_requests) {
  counting_sink sink;
  recent_activity recent(sink);
  recent.begin();
  const auto mine = record_of(1);
  auto repeat = keyed_report("a");
  repeat.record = &mine;
  recent.finished(repeat);
  auto failed = keyed_report("a");
  failed.record = &mine;
  failed.outcome = http::request_outcome::ran;
  failed.attempt = 1;
  failed.settled = settle_kind::abandon;
  failed.unknown_why = unknown_reason::upstream_timeout;
  failed.status = 504;
  failed.total = std::chrono::microseconds(1'500);
  recent.finished(failed);
  auto completed = failed;
  completed.settled = settle_kind::complete;
  recent.finished(completed);  // the record says so
  auto again = completed;
  again.attempt = 2;
  recent.finished(again);
  const auto other = record_of(2);
  auto other_repeat = repeat;
  other_repeat.record = &other;
  recent.finished(other_repeat);
  for (std::size_t i = 0; i < recent_activity::requests_max; ++i)
    recent.finished(keyed_report("b"));
  EXPECT_FALSE(recent.find(1));
  const auto found = recent.outcomes().of(mine, 10);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].number, 1u);
  EXPECT_EQ(found[0].report.outcome, http::request_outcome::replayed);
  EXPECT_EQ(found[0].report.status, 201u);
  EXPECT_EQ(found[1].report.outcome, http::request_outcome::ran);
  EXPECT_EQ(found[1].report.settled, settle_kind::abandon);
  EXPECT_EQ(found[1].report.unknown_why, unknown_reason::upstream_timeout);
  EXPECT_EQ(found[1].report.status, 504u);
  EXPECT_EQ(found[1].report.total.count(), 1'500);
  EXPECT_EQ(found[2].report.attempt, 2u);
  ASSERT_EQ(recent.outcomes().of(mine, 2).size(), 2u);
  EXPECT_EQ(recent.outcomes().of(mine, 2)[0].number, 2u);
}

TEST(recent_activity_test, who_asks_for_a_record_learns_from_when_on_its_requests_are_known) {
  outcome_history history;
  history.begin();
  const auto first = record_of(1);
  const auto second = record_of(2);
  auto repeat = keyed_report("a");
  repeat.record = &first;
  history.add(1, 1'000, repeat);
  repeat.record = &second;
  for (std::size_t i = 1; i < outcome_history::entries_max; ++i) history.add(i + 1, 2'000, repeat);
  EXPECT_EQ(history.known_since_wall(), 0);
  EXPECT_EQ(history.of(first, 10).size(), 1u);
  history.add(outcome_history::entries_max + 1, 3'000, repeat);
  EXPECT_EQ(history.known_since_wall(), 2'000);
  EXPECT_TRUE(history.of(first, 10).empty());
  EXPECT_EQ(history.of(second, outcome_history::entries_max).size(), outcome_history::entries_max);
}

TEST(recent_activity_test, an_entry_that_is_replaced_while_it_is_read_is_whole_or_not_there) {
  outcome_history history;
  history.begin();
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  const auto mine = record_of(1);
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&history, &mine] {
      auto repeat = keyed_report("a");
      repeat.record = &mine;
      for (std::uint64_t n = 1; n < 60'000; ++n) {
        repeat.attempt = n;
        repeat.status = static_cast<unsigned>(n % 1'000);
        history.add(n, static_cast<std::int64_t>(n), repeat);
      }
    });
  }
  std::thread reader([&] {
    while (!done) {
      for (const auto& one : history.of(mine, 500)) {
        EXPECT_EQ(one.report.attempt, one.number);
        EXPECT_EQ(one.at_wall, static_cast<std::int64_t>(one.number));
        EXPECT_EQ(one.report.status, one.number % 1'000);
      }
    }
  });
  for (auto& one : writers) one.join();
  done = true;
  reader.join();
}

}  // namespace
}  // namespace onceguard::admin
