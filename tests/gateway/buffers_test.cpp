// How memory is shared out, how long answers are and what many get.
#include "gateway/buffers.hpp"

#include <gtest/gtest.h>

#include "gateway/shared_answers.hpp"

namespace onceguard::gateway {
namespace {

TEST(answer_sizes, are_a_sixteenth_of_the_longest_until_more_is_known) {
  const answer_sizes fresh;
  EXPECT_EQ(fresh.usual(1u << 20), 1u << 16);
  answer_sizes short_ones;
  for (int i = 0; i < 100; ++i) short_ones.note(200);
  EXPECT_EQ(short_ones.usual(1u << 20), 1u << 16);
}

TEST(answer_sizes, follow_a_longer_one_at_once_and_shorter_ones_slowly) {
  answer_sizes sizes;
  sizes.note(500'000);
  EXPECT_EQ(sizes.usual(1u << 20), 500'000u);
  sizes.note(1'000);
  EXPECT_GT(sizes.usual(1u << 20), 480'000u);
  EXPECT_LT(sizes.usual(1u << 20), 500'000u);
  for (int i = 0; i < 1'000; ++i) sizes.note(1'000);
  EXPECT_EQ(sizes.usual(1u << 20), 1u << 16);
}

TEST(answer_sizes, are_never_more_than_the_longest) {
  answer_sizes sizes;
  sizes.note(5'000'000);
  EXPECT_EQ(sizes.usual(1u << 20), 1u << 20);
}

TEST(answer_sizes, replays_only_raise_them) {
  answer_sizes sizes;
  sizes.note_longer(500'000);
  for (int i = 0; i < 1'000; ++i) sizes.note_longer(100'000);
  EXPECT_EQ(sizes.usual(1u << 20), 500'000u);
}

TEST(buffers, leave_room_for_work_and_hold_one_of_the_longest) {
  EXPECT_EQ(left_by_uploads(1'000, 100), 500u);
  EXPECT_EQ(left_by_uploads(1'000, 800), 200u) << "or it could never come";
  EXPECT_EQ(left_by_uploads(1'000, 2'000), 0u);
  EXPECT_EQ(left_by_replays(1'000, 100), 250u);
  EXPECT_EQ(left_by_replays(1'000, 800), 200u) << "or it could never be repeated";
  EXPECT_EQ(left_by_replays(1'000, 2'000), 0u);
}

class shared_answers_test : public ::testing::Test {
 protected:
  byte_budget budget{100'000};
  shared_answers answers{budget};
  record_id id{};

  answer_ptr share(answer_ptr answer) { return answers.share(id, std::move(answer), 25'000); }
  static answer_ptr make(char filler, std::size_t size = 30'000) {
    auto out = std::make_shared<answer>();
    out->status = 201;
    out->body.assign(size, filler);
    return out;
  }
};

TEST_F(shared_answers_test, answer_is_kept_once_for_all_its_readers) {
  const auto first = share(make('a'));
  ASSERT_TRUE(first);
  const auto used = budget.used();
  EXPECT_GE(used, 30'000u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(share(make('a')), first);
  const auto another = share(make('a'));
  EXPECT_EQ(another->body, first->body);
  EXPECT_EQ(budget.used(), used);
}

TEST_F(shared_answers_test, answer_is_kept_until_its_last_reader_is_done) {
  auto first = share(make('a'));
  auto second = share(make('a'));
  first.reset();
  EXPECT_GE(budget.used(), 30'000u);
  EXPECT_EQ(answers.records(), 1u);
  second.reset();
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(answers.records(), 0u);
  EXPECT_TRUE(share(make('a')));
  EXPECT_EQ(budget.used(), 0u);
}

TEST_F(shared_answers_test, another_answer_of_the_record_is_another) {
  auto first = share(make('a'));
  const auto second = share(make('b'));
  EXPECT_EQ(second->body[0], 'b');
  EXPECT_EQ(first->body[0], 'a');
  EXPECT_GE(budget.used(), 60'000u);
  first.reset();
  EXPECT_EQ(share(make('b')), second) << "the first left the place of the second alone";
}

TEST_F(shared_answers_test, other_records_do_not_share_and_have_a_bound) {
  const auto first = share(make('a'));
  id[0] = 1;
  const auto second = share(make('a'));
  EXPECT_NE(first, second);
  id[0] = 2;
  EXPECT_EQ(share(make('a')), nullptr) << "a quarter is left for others";
  id[0] = 0;
  EXPECT_EQ(share(make('a')), first) << "what is there already takes no more";
  EXPECT_TRUE(share(make('b', 10'000)));
}

}  // namespace
}  // namespace onceguard::gateway
