// What the replay cache serves, and what it lets go.
#include "engine/replay_cache.hpp"

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace onceguard {
namespace {

using namespace std::chrono_literals;

record_id id_of(unsigned char n) {
  record_id id{};
  id[1] = n;  // the first octet says which shard: all in one here
  return id;
}

fingerprint print_of(unsigned char n) {
  fingerprint print{.method = "exact"};
  print.value[0] = n;
  return print;
}

cached_replay answer_of(std::size_t size) {
  const auto kept = std::make_shared<answer>();
  kept->status = 201;
  kept->body.assign(size, 'x');
  cached_replay out;
  out.answer = kept;
  out.kept = answer_kept::full;
  return out;
}

class replay_cache_test : public ::testing::Test {
 protected:
  replay_cache_test() { cache.trust_until(now + 3600s); }

  void put(unsigned char n, std::size_t size = 10'000) {
    cache.put(id_of(n), print_of(1), answer_of(size), now + 60s, cache.epoch());
  }
  bool has(unsigned char n) { return cache.find(id_of(n), print_of(1), now).has_value(); }

  const replay_cache::time_point now = base::boot_now();
  replay_cache cache{8 * 100'000};  // 100,000 bytes for each of its eight shards
};

TEST_F(replay_cache_test, the_least_recently_used_go_first) {
  for (unsigned char n = 0; n < 9; ++n) put(n);
  EXPECT_TRUE(has(0));  // so it is the latest now
  put(9);
  put(10);
  EXPECT_TRUE(has(0));
  EXPECT_FALSE(has(1));
  EXPECT_FALSE(has(2));
  EXPECT_TRUE(has(3));
  EXPECT_TRUE(has(10));
}

TEST_F(replay_cache_test, one_answer_does_not_push_out_all_others) {
  put(1);
  put(2, 90'000);
  EXPECT_TRUE(has(1));
  EXPECT_FALSE(has(2));
}

TEST_F(replay_cache_test, a_second_answer_replaces_the_first) {
  put(1);
  put(2);
  for (int i = 0; i < 20; ++i) put(1);
  EXPECT_TRUE(has(1));
  EXPECT_TRUE(has(2));  // the answers that were replaced take no room
}

TEST_F(replay_cache_test, serves_only_the_same_request_in_its_time_and_epoch) {
  put(1);
  EXPECT_FALSE(cache.find(id_of(1), print_of(2), now));
  const auto found = cache.find(id_of(1), print_of(1), now);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->answer->status, 201);
  EXPECT_EQ(found->kept, answer_kept::full);
  EXPECT_FALSE(cache.find(id_of(1), print_of(1), now + 60s));
  EXPECT_FALSE(has(1));  // its time was over: gone

  put(1);
  EXPECT_TRUE(has(1));
  cache.begin_epoch();
  EXPECT_FALSE(has(1));
}

TEST_F(replay_cache_test, trust_ends_by_itself) {
  put(1);
  cache.trust_until(now + 3s);
  EXPECT_TRUE(cache.find(id_of(1), print_of(1), now + 3s - 1ns));
  EXPECT_FALSE(cache.find(id_of(1), print_of(1), now + 3s));
  cache.trust_until(now + 4s);
  EXPECT_TRUE(cache.find(id_of(1), print_of(1), now + 3s)) << "it is there still";
}

TEST_F(replay_cache_test, before_the_store_was_answered_nothing_is_served) {
  replay_cache unheard{8 * 100'000};
  unheard.put(id_of(1), print_of(1), answer_of(10), now + 60s, unheard.epoch());
  EXPECT_FALSE(unheard.find(id_of(1), print_of(1), now));
}

}  // namespace
}  // namespace onceguard
