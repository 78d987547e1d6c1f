// Recovery points: work in several transactions goes on where the attempt before it ended.
#include <future>
#include <set>

#include "execute/execute_fixture.hpp"

namespace onceguard::testing {
namespace {

class execute_steps_contract : public execute_fixture {
 protected:
  /// A step that charges, and gives its name and the number of the attempt.
  std::string pay(steps& flow, till& till, const std::string& name) {
    return flow.step(name, [&] {
      ++runs_;
      till.charge(name);
      return name + " in attempt " + std::to_string(flow.held().attempt);
    });
  }
  steps_work three_steps(till& till) {
    return [this, &till](steps& flow) {
      auto all = pay(flow, till, "one");
      all += ", " + pay(flow, till, "two");
      all += ", " + pay(flow, till, "three");
      return receipt(all);
    };
  }
  void expect_each_once() {
    for (const auto* step : {"one", "two", "three"}) EXPECT_EQ(charges(step), 1) << step;
  }
  /// Asks until it is not busy any more, as clients do.
  result<verdict> insist(till& till, const steps_work& work) {
    while (true) {
      auto reply = till.execute_steps(order_, reported_at_once(), work);
      if (!reply || reply->kind != verdict_kind::busy) return reply;
    }
  }
};

TEST_P(execute_steps_contract, all_steps_run_and_the_answer_stays) {
  const auto first = till_->execute_steps(order_, {}, three_steps(*till_));
  ASSERT_TRUE(first) << first.error().detail;
  EXPECT_EQ(first->kind, verdict_kind::run);
  EXPECT_EQ(first->answer->body, "one in attempt 1, two in attempt 1, three in attempt 1");
  const auto again = open()->execute_steps(order_, {}, three_steps(*till_));
  EXPECT_EQ(again->kind, verdict_kind::replay);
  EXPECT_EQ(*again->answer, *first->answer);
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::replay);
  expect_each_once();
}

TEST_P(execute_steps_contract, an_answer_is_kept_for_as_long_as_the_policy_says) {
  execute_policy policy;
  policy.retention = std::chrono::hours(2);
  till_->execute_steps(order_, policy, three_steps(*till_)).value();
  const auto left = till_->execute_steps(order_, {}, three_steps(*till_))->retention_left;
  EXPECT_LE(left, policy.retention);
  EXPECT_GT(left, policy.retention / 2);
}

TEST_P(execute_steps_contract, after_an_exception_the_next_attempt_goes_on_at_once) {
  const steps_work declined_in_step_three = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    pay(flow, *till_, "two");
    flow.step("three", [&]() -> std::string {
      till_->charge("three");
      throw card_declined();
    });
    return receipt();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined_in_step_three)),
               card_declined);
  EXPECT_EQ(charges("two"), 1);
  EXPECT_EQ(charges("three"), 0);
  const auto other = open();
  const auto again = other->execute_steps(order_, reported_at_once(), three_steps(*other));
  ASSERT_TRUE(again) << again.error().detail;
  ASSERT_TRUE(again->answer) << "the attempt before is still under way";
  EXPECT_EQ(again->answer->body, "one in attempt 1, two in attempt 1, three in attempt 2");
  expect_each_once();
}

TEST_P(execute_steps_contract, an_exception_between_two_steps_ends_the_attempt_too) {
  const steps_work lost_in_between = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, lost_in_between)), card_declined);
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::unknown);
  const auto again = till_->execute_steps(order_, reported_at_once(), three_steps(*till_));
  ASSERT_TRUE(again && again->answer) << "the attempt before is still under way";
  EXPECT_EQ(again->answer->body, "one in attempt 1, two in attempt 2, three in attempt 2");
  expect_each_once();
}

TEST_P(execute_steps_contract, what_a_step_gave_comes_back_byte_for_byte) {
  const std::string odd("\0\xff\n'\\", 5);
  const auto first_part = [&](steps& flow) { return flow.step("odd ' name", [&] { return odd; }); };
  const steps_work fails = [&](steps& flow) -> answer {
    first_part(flow);
    flow.step("empty", [] { return std::string(); });
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, fails)), card_declined);
  const auto again = till_->execute_steps(order_, {}, [&](steps& flow) {
    const auto first = first_part(flow);
    return receipt(first + flow.step("empty", [] { return std::string("not now"); }));
  });
  ASSERT_TRUE(again && again->answer);
  EXPECT_EQ(again->answer->body, odd);
}

TEST_P(execute_steps_contract, repeats_during_a_run_are_busy_or_wait_for_the_answer) {
  const auto waiting = open();
  std::future<result<verdict>> other;
  const auto first = till_->execute_steps(order_, {}, [&](steps& flow) {
    pay(flow, *till_, "one");
    const auto rejected = waiting->execute_steps(order_, reported_at_once(), three_steps(*waiting));
    EXPECT_EQ(rejected->kind, verdict_kind::busy);
    EXPECT_GT(rejected->retry_after, milliseconds(0));
    other = std::async(std::launch::async,
                       [&] { return waiting->execute_steps(order_, {}, three_steps(*waiting)); });
    pay(flow, *till_, "two");
    return receipt(pay(flow, *till_, "three"));
  });
  ASSERT_TRUE(first) << first.error().detail;
  const auto reply = other.get();
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::replay);
  EXPECT_EQ(*reply->answer, *first->answer);
  expect_each_once();
}

TEST_P(execute_steps_contract, an_attempt_that_was_overtaken_cannot_commit_a_step) {
  execute_policy hasty;
  hasty.lease = milliseconds(1);
  const auto other = open();
  const auto reply = till_->execute_steps(order_, hasty, [&](steps& flow) {
    pay(flow, *till_, "one");
    const auto second = insist(*other, three_steps(*other));  // once that lease is over
    EXPECT_TRUE(second) << second.error().detail;
    EXPECT_EQ(second->answer->body, "one in attempt 1, two in attempt 2, three in attempt 2");
    pay(flow, *till_, "two");
    ADD_FAILURE() << "a step of somebody who was overtaken";
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::write_conflict);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  EXPECT_TRUE(reply.error().retryable());
  expect_each_once();
  EXPECT_EQ(till_->execute_steps(order_, {}, three_steps(*till_))->kind, verdict_kind::replay);
}

TEST_P(execute_steps_contract, an_attempt_that_was_overtaken_cannot_answer) {
  execute_policy hasty;
  hasty.lease = milliseconds(1);
  const auto other = open();
  const auto reply = till_->execute_steps(order_, hasty, [&](steps& flow) {
    pay(flow, *till_, "one");
    EXPECT_TRUE(insist(*other, three_steps(*other)));
    try {
      pay(flow, *till_, "two");
    } catch (...) {  // as if nothing had happened
    }
    const auto runs = runs_.load();
    EXPECT_ANY_THROW(pay(flow, *till_, "three"));
    EXPECT_EQ(runs_, runs) << "no later step begins";
    return receipt("mine");
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  expect_each_once();
  EXPECT_EQ(till_->execute_steps(order_, {}, three_steps(*till_))->answer->body,
            "one in attempt 1, two in attempt 2, three in attempt 2");
}

TEST_P(execute_steps_contract, the_order_of_steps_does_not_change) {
  const steps_work fails = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, fails)), card_declined);
  const steps_work other_order = [&](steps& flow) { return receipt(pay(flow, *till_, "two")); };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, other_order)), std::logic_error);
  const steps_work twice = [&](steps& flow) {
    pay(flow, *till_, "one");
    return receipt(pay(flow, *till_, "one"));
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, twice)), std::logic_error);
  EXPECT_EQ(charges("two"), 0);
  EXPECT_EQ(till_->execute_steps(order_, {}, three_steps(*till_))->kind, verdict_kind::run);
  expect_each_once();
}

TEST_P(execute_steps_contract, a_key_for_others_is_the_same_in_each_attempt) {
  std::set<std::string> same, different;
  const steps_work asks = [&](steps& flow) -> answer {
    same.insert(flow.key_for("charge the card"));
    different.insert(flow.key_for("send a mail"));
    throw card_declined();
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, asks)), card_declined);
  }
  const request another{"ada", "order-2"};
  EXPECT_THROW(static_cast<void>(till_->execute_steps(another, {}, asks)), card_declined);
  EXPECT_EQ(same.size(), 2u);
  different.insert(same.begin(), same.end());
  EXPECT_EQ(different.size(), 4u);
  EXPECT_EQ(same.begin()->size(), 64u);
}

TEST_P(execute_steps_contract, steps_need_transactions_of_their_own) {
  const auto reply = till_->execute(order_, {}, [&](const lease&) {
    try {
      EXPECT_FALSE(till_->execute_steps({"ada", "part"}, {}, three_steps(*till_)));
    } catch (const std::logic_error&) {  // libpqxx's own way to say it
    }
    return receipt();
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->kind, verdict_kind::run);
  EXPECT_EQ(charges("one"), 0);
}

TEST_P(execute_steps_contract, another_fingerprint_does_not_go_on_with_it) {
  const steps_work fails = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, fails)), card_declined);
  const request other{"ada", "order-1", "amount=50"};
  EXPECT_EQ(till_->execute_steps(other, {}, three_steps(*till_))->kind, verdict_kind::mismatch);
}

INSTANTIATE_TEST_SUITE_P(libraries, execute_steps_contract, ::testing::ValuesIn(libraries),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onceguard::testing
