#include "relay/destination.hpp"

#include <gtest/gtest.h>

#include "messaging/subscription/scripted_broker.hpp"

namespace onceguard::testing {
namespace {

class relay_destination : public ::testing::Test {
 protected:
  relay_destination() {
    params_.name = "orders";
    params_.broker = "test://broker/" + name_;
    for (const char* const payload : {"a", "b", "c"}) {
      auto& one = batch_.emplace_back();
      one.sent.payload = payload;
      one.id = payload;
    }
  }

  [[nodiscard]] std::vector<std::string> published() const {
    std::vector<std::string> out;
    for (const auto& one : queue_->published) out.push_back(one.payload);
    return out;
  }

  const std::string name_ =
      std::string("relay ") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::shared_ptr<scripted_queue> queue_ = scripted_queue_of(name_);
  relay::relay_params params_;
  std::vector<relay::outgoing> batch_;
};

using words = std::vector<std::string>;

words texts_of(const result<relay::refusals>& sent) {
  words out;
  for (const auto& one : sent.value()) out.push_back(one.text);
  return out;
}

TEST_F(relay_destination, confirms_a_whole_batch) {
  const auto target = relay::make_destination(params_, {});
  EXPECT_EQ(texts_of(target->send(batch_, {})), words(3));
  EXPECT_EQ(published(), (words{"a", "b", "c"}));
  EXPECT_EQ(queue_->publish_calls, 1u);
}

TEST_F(relay_destination, finds_the_message_that_is_refused) {
  queue_->refuse_publish = {error(errc::conflict, "one of them")};
  const auto target = relay::make_destination(params_, {});
  EXPECT_EQ(texts_of(target->send(batch_, {})), words(3)) << "by itself, none is refused";
  EXPECT_EQ(published(), (words{"a", "b", "c"}));

  for (const auto code : {errc::conflict, errc::invalid_argument}) {
    queue_->refuse_publish = {error(code, "too large")};
    EXPECT_EQ(texts_of(target->send(std::span(batch_).first(1), {})), (words{"too large"}));
  }
}

TEST_F(relay_destination, is_away_where_the_message_is_not_at_fault) {
  const auto target = relay::make_destination(params_, {});
  for (const auto code : {errc::broker_unreachable, errc::not_found, errc::store_full}) {
    queue_->refuse_publish = {error(code, "no room")};
    EXPECT_EQ(target->send(batch_, {}).error().code, code);
  }
  // Amid the search for the refused one, too.
  queue_->refuse_publish = {error(errc::conflict, "one of them"),
                            error(errc::not_found, "the queue is gone")};
  EXPECT_EQ(target->send(batch_, {}).error().code, errc::not_found);
  EXPECT_EQ(texts_of(target->send(batch_, {})), words(3)) << "it connects again";
}

TEST_F(relay_destination, is_away_while_nobody_can_connect) {
  queue_->refuse_open = {error(errc::not_found, "no such queue")};
  const auto target = relay::make_destination(params_, {});
  EXPECT_EQ(target->send(batch_, {}).error().detail, "no such queue");
  EXPECT_EQ(texts_of(target->send(batch_, {})), words(3));
}

TEST_F(relay_destination, waits_for_what_lies_at_a_broker_and_sends_it_no_second_time) {
  using enum messaging::publication;
  const error not_now(errc::store_full, "low on memory", effect::unknown);
  queue_->refuse_publish = {not_now};
  queue_->refuse_await = {not_now, not_now};
  queue_->progress = {stored, on_its_way, not_stored};
  std::vector<std::string> reasons;
  relay::waiting rules;
  rules.on_wait = [&](const std::string& why) { reasons.push_back(why); };
  const auto target = relay::make_destination(params_, {});
  const auto sent = target->send(batch_, rules).value();
  EXPECT_EQ(queue_->publish_calls, 1u);
  EXPECT_EQ(reasons, words(3, "low on memory"));
  EXPECT_TRUE(sent[0].empty());
  EXPECT_TRUE(sent[1].empty());
  EXPECT_TRUE(sent[2].for_now) << "it was not written";
}

TEST_F(relay_destination, waits_until_it_is_to_end) {
  const error not_now(errc::store_full, "low on memory", effect::unknown);
  queue_->refuse_publish = {not_now};
  queue_->refuse_await = {not_now, not_now, not_now};
  queue_->progress = {messaging::publication::on_its_way, messaging::publication::not_stored,
                      messaging::publication::not_stored};
  std::stop_source stop;
  relay::waiting rules;
  rules.stop = stop.get_token();
  rules.on_wait = [&](const std::string& /*why*/) {
    if (queue_->refuse_await.size() == 2) stop.request_stop();
  };
  const auto target = relay::make_destination(params_, {});
  EXPECT_EQ(target->send(batch_, rules).error().code, errc::store_full);
  EXPECT_EQ(queue_->refuse_await.size(), 1u);
}

}  // namespace
}  // namespace onceguard::testing
