// How far a partition is handled, and the note about it.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "messaging/kafka/partition_progress.hpp"

namespace onceguard::testing {
namespace {

using messaging::kafka::partition_progress;

constexpr std::size_t long_note = 4'000;

TEST(kafka_progress, the_position_is_that_of_the_first_record_that_is_not_done) {
  partition_progress done(10, "");
  EXPECT_EQ(done.position(), 10);
  for (std::int64_t i = 10; i < 15; ++i) EXPECT_TRUE(done.take(i));
  EXPECT_EQ(done.position(), 10);
  done.settle(11);
  done.settle(12);
  done.settle(14);
  EXPECT_EQ(done.position(), 10);
  EXPECT_EQ(done.note(long_note), "onceguard:1-2,4");
  done.settle(10);
  EXPECT_EQ(done.position(), 13);
  EXPECT_EQ(done.note(long_note), "onceguard:1");
  done.settle(13);
  EXPECT_EQ(done.position(), 15);
  EXPECT_EQ(done.note(long_note), "");
}

TEST(kafka_progress, what_a_note_names_is_not_read_again) {
  partition_progress done(10, "onceguard:1-2,4");
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 10; i < 17; ++i) {
    if (done.take(i)) taken.push_back(i);
  }
  EXPECT_EQ(taken, (std::vector<std::int64_t>{10, 13, 15, 16}));
  EXPECT_EQ(done.note(long_note), "onceguard:1-2,4");
  done.settle(10);
  EXPECT_EQ(done.position(), 13);
}

TEST(kafka_progress, gaps_between_offsets_are_done) {
  partition_progress done(0, "");
  EXPECT_TRUE(done.take(0));
  EXPECT_TRUE(done.take(5));  // what stood between is a transaction's, or was compacted
  done.settle(0);
  EXPECT_EQ(done.position(), 5);
  done.settle(5);
  EXPECT_EQ(done.position(), 6);
}

TEST(kafka_progress, nothing_is_known_before_the_first_record) {
  partition_progress done;
  EXPECT_LT(done.position(), 0);
  EXPECT_LT(done.next(), 0);
  EXPECT_TRUE(done.take(100));
  EXPECT_EQ(done.position(), 100);
}

TEST(kafka_progress, a_record_that_is_read_twice_is_taken_once) {
  partition_progress done(0, "");
  EXPECT_TRUE(done.take(0));
  EXPECT_FALSE(done.take(0));
  done.settle(0);
  EXPECT_EQ(done.position(), 1);
}

TEST(kafka_progress, records_of_a_log_that_begins_anew_are_taken) {
  partition_progress done(100, "onceguard:3");
  EXPECT_TRUE(done.take(0));
  EXPECT_TRUE(done.take(1));
  EXPECT_EQ(done.position(), 0);
  done.settle(0);
  done.settle(1);
  for (std::int64_t i = 2; i < 110; ++i) EXPECT_TRUE(done.take(i)) << i;
}

TEST(kafka_progress, a_note_that_is_none_of_ours_says_nothing) {
  for (const auto* const note : {"", "consumer-17", "onceguard:", "onceguard:x", "onceguard:3-1",
                                 "onceguard:-1", "onceguard:1-99999999999999999999",
                                 "onceguard:0-4000000000", "onceguard:1;2", "onceguard:,1"}) {
    partition_progress done(10, note);
    for (std::int64_t i = 10; i < 20; ++i) EXPECT_TRUE(done.take(i)) << note;
  }
}

TEST(kafka_progress, a_note_that_would_be_too_long_is_cut) {
  partition_progress done(0, "");
  for (std::int64_t i = 0; i < 5'000; ++i) EXPECT_TRUE(done.take(i));
  for (std::int64_t i = 1; i < 5'000; i += 2) done.settle(i);
  const auto note = done.note(200);
  EXPECT_LE(note.size(), 200u);
  EXPECT_GT(note.size(), 190u);
  EXPECT_EQ(done.note(5), "");
  partition_progress later(0, note);
  EXPECT_TRUE(later.take(0));
  EXPECT_FALSE(later.take(1));
  EXPECT_TRUE(later.take(4'999)) << "it did not fit";
}

/// A group of consumers that come and go: nothing is lost, whatever is settled in which order.
TEST(kafka_progress, whatever_is_settled_nothing_is_lost) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::set<std::int64_t> settled;
    std::int64_t committed = 0;
    std::string note;
    for (int session = 0; session < 4; ++session) {
      partition_progress done(committed, note);
      std::vector<std::int64_t> held;
      for (std::int64_t i = committed; i < 60; ++i) {
        if (!done.take(i)) {
          EXPECT_TRUE(settled.contains(i)) << "left out: " << i;
        } else {
          EXPECT_FALSE(settled.contains(i)) << "again: " << i;
          held.push_back(i);
        }
      }
      std::shuffle(held.begin(), held.end(), random);
      held.resize(held.size() / 2);
      for (const auto offset : held) {
        done.settle(offset);
        settled.insert(offset);
      }
      committed = done.position();
      note = done.note(long_note);
      for (std::int64_t i = 0; i < committed; ++i) EXPECT_TRUE(settled.contains(i));
    }
  }
}

}  // namespace
}  // namespace onceguard::testing
