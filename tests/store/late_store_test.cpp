// A store that is opened in the background.
#include "store/late_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class late_store_test : public ::testing::Test {
 protected:
  result<std::unique_ptr<store>> try_to_open() {
    ++attempts_;
    if (!there_) return error(errc::store_unreachable, "the server is not there");
    auto opened = std::make_unique<faulty_store>(inner_);
    opened_ = opened.get();
    return std::unique_ptr<store>(std::move(opened));
  }
  std::unique_ptr<late_store> open() {
    return late_store::open({.name = "known before"}, [this] { return try_to_open(); }).value();
  }
  void let_it_open(const late_store& late) {
    there_ = true;
    wait_until("the store to open", [&] { return !late.why_not_open(); });
  }

  memory_store inner_;
  std::atomic<bool> there_{false};
  std::atomic<int> attempts_{0};
  std::atomic<faulty_store*> opened_{nullptr};
};

TEST_F(late_store_test, calls_are_refused_without_an_effect_until_the_store_is_open) {
  const auto late = open();
  blocking_store caller(*late);
  const auto request = claim_of("k");
  const auto refused = caller.try_claim(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_unreachable);
  EXPECT_EQ(refused.error().effect, effect::none);
  EXPECT_EQ(refused.error().detail, "the server is not there");
  EXPECT_EQ(late->traits().name, "known before");
  ASSERT_TRUE(late->why_not_open());
  EXPECT_EQ(late->why_not_open()->why, "the server is not there");
  let_it_open(*late);
  EXPECT_EQ(caller.leased(request).claim_id, request.claim_id);
  EXPECT_EQ(late->traits().name, "memory");
}

TEST_F(late_store_test, each_claim_of_a_batch_gets_its_refusal) {
  const auto late = open();
  std::vector<claim> batch{claim_of("a"), claim_of("b"), claim_of("c")};
  const auto refused = run(late->claim(std::move(batch), milliseconds(100)));
  ASSERT_EQ(refused.size(), 3u);
  for (const auto& each : refused) EXPECT_FALSE(each);
}

TEST_F(late_store_test, a_store_that_is_there_is_open_from_the_first_attempt) {
  there_ = true;
  const auto late = open();
  EXPECT_FALSE(late->why_not_open());
  EXPECT_EQ(attempts_, 1);
}

TEST_F(late_store_test, what_can_never_be_opened_is_an_error_at_once) {
  const auto refused = late_store::open({}, []() -> result<std::unique_ptr<store>> {
    return error(errc::invalid_argument, "no such scheme");
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "no such scheme");
}

TEST_F(late_store_test, a_listener_that_came_before_the_store_hears_of_settles) {
  const auto late = open();
  std::vector<std::uint64_t> reported;
  late->on_settled([&](const std::vector<std::uint64_t>& settled) { reported = settled; });
  let_it_open(*late);
  opened_.load()->announce({7, 8});
  EXPECT_THAT(reported, ::testing::ElementsAre(7u, 8u));
  late->on_settled(nullptr);
  opened_.load()->announce({9});
  EXPECT_THAT(reported, ::testing::ElementsAre(7u, 8u));
}

TEST_F(late_store_test, a_stop_ends_the_attempts) {
  const auto late = open();
  wait_until("a second attempt", [&] { return attempts_ > 1; });
  late->stop();
  const int made = attempts_;
  there_ = true;
  const auto refused = blocking_store(*late).try_claim(claim_of("k"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::stopped);
  EXPECT_TRUE(late->why_not_open());
  EXPECT_EQ(attempts_, made);
}

TEST_F(late_store_test, a_damaged_store_is_not_tried_again) {
  std::atomic<int> tried{0};
  const auto damaged = late_store::open({}, [&]() -> result<std::unique_ptr<store>> {
                         ++tried;
                         return error(errc::store_lost, "the log is not this file's");
                       }).value();
  // One that is tried again shows how often this one would have been.
  const auto other = open();
  wait_until("further attempts", [&] { return attempts_ > 3; });
  EXPECT_EQ(tried, 1);
  ASSERT_TRUE(damaged->why_not_open());
  EXPECT_EQ(damaged->why_not_open()->why, "the log is not this file's");
}

}  // namespace
}  // namespace onceguard::testing
