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

}  // namespace
}  // namespace onceguard::admin
