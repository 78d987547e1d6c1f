// Sagas: work that can't be finished takes back what it did, in reverse order, each step once.
#include <vector>

#include "execute/execute_fixture.hpp"

namespace onceguard::testing {
namespace {

struct power_cut {};  // ends an attempt as an exception of the work does

class execute_compensation_contract : public execute_fixture {
 protected:
  /// Charges, and takes it back with a charge of another name.
  std::string pay(steps& flow, till& till, const std::string& name) {
    return flow.step(
        name,
        [&till, name] {
          till.charge(name);
          return "receipt " + name;
        },
        [this, &till, name](const std::string& stored) {
          EXPECT_EQ(stored, "receipt " + name);
          undone_.push_back(name);
          till.charge("undo " + name);
          if (name == cut_at_) throw power_cut();
        });
  }
  /// Three steps, and then the card is declined.
  steps_work declined(till& till) {
    return [this, &till](steps& flow) -> answer {
      ++runs_;
      for (const auto* name : {"one", "two", "three"}) pay(flow, till, name);
      flow.fail({402, {{"Reason", "card"}}, "declined"});
    };
  }
  void expect_all_undone() {
    for (const std::string name : {"one", "two", "three"}) {
      EXPECT_EQ(charges(name), 1) << name;
      EXPECT_EQ(charges("undo " + name), 1) << name;
    }
  }
  /// Asks until it is not busy any more, as clients do.
  result<verdict> insist(till& till, const steps_work& work) {
    while (true) {
      auto reply = till.execute_steps(order_, reported_at_once(), work);
      if (!reply || reply->kind != verdict_kind::busy) return reply;
    }
  }
  using names = std::vector<std::string>;

  names undone_;
  std::string cut_at_;
};

TEST_P(execute_compensation_contract, completed_steps_are_undone_from_the_last_to_the_first) {
  const auto first = till_->execute_steps(order_, {}, declined(*till_));
  ASSERT_TRUE(first) << first.error().detail;
  EXPECT_EQ(first->kind, verdict_kind::run);
  EXPECT_EQ(*first->answer, (answer{402, {{"Reason", "card"}}, "declined"}));
  EXPECT_EQ(undone_, (names{"three", "two", "one"}));
  expect_all_undone();
}

TEST_P(execute_compensation_contract, repeats_get_the_answer_of_the_failure) {
  const auto first = till_->execute_steps(order_, {}, declined(*till_));
  ASSERT_TRUE(first) << first.error().detail;
  const auto other = open();
  const auto again = other->execute_steps(order_, {}, declined(*other));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->kind, verdict_kind::replay);
  EXPECT_EQ(*again->answer, *first->answer);
  EXPECT_EQ(runs_, 1);
  expect_all_undone();
}

TEST_P(execute_compensation_contract, a_compensation_that_throws_is_run_again_and_none_is_skipped) {
  cut_at_ = "two";
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
    EXPECT_EQ(charges("undo three"), 1);
    EXPECT_EQ(charges("undo two"), 0) << "rolled back";
    EXPECT_EQ(charges("undo one"), 0) << "out of order";
  }
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::unknown);
  cut_at_.clear();
  const auto other = open();
  const auto last = other->execute_steps(order_, reported_at_once(), declined(*other));
  ASSERT_TRUE(last && last->answer);
  EXPECT_EQ(last->answer->body, "declined");
  EXPECT_EQ(undone_, (names{"three", "two", "two", "two", "two", "one"}));
  expect_all_undone();
}

TEST_P(execute_compensation_contract, a_later_attempt_never_goes_forward_again) {
  cut_at_ = "two";
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
  cut_at_.clear();
  bool went_on = false;
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) {
    pay(flow, *till_, "one");
    pay(flow, *till_, "two");
    went_on = true;  // the compensations begin within the step before
    pay(flow, *till_, "three");
    return receipt("paid after all");
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->body, "declined");
  EXPECT_FALSE(went_on);
  expect_all_undone();
}

TEST_P(execute_compensation_contract, the_failure_is_stored_before_the_first_compensation) {
  cut_at_ = "three";
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
  cut_at_.clear();
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) {
    for (const auto* name : {"one", "two", "three"}) pay(flow, *till_, name);
    return receipt("paid after all");
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->body, "declined");
  expect_all_undone();
}

TEST_P(execute_compensation_contract, after_the_last_compensation_the_work_does_not_run_again) {
  cut_at_ = "one";
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) -> answer {
    cut_at_.clear();
    return receipt(pay(flow, *till_, "one"));
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->status, 402);
  expect_all_undone();
}

TEST_P(execute_compensation_contract,
       a_step_that_fails_is_rolled_back_and_only_those_before_it_undone) {
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    flow.step(
        "two",
        [&]() -> std::string {
          till_->charge("two");
          flow.fail({409, {}, "sold out"});
        },
        [&](const std::string&) { ADD_FAILURE() << "the step has not taken effect"; });
    return receipt();
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->body, "sold out");
  EXPECT_EQ(charges("two"), 0);
  EXPECT_EQ(charges("undo one"), 1);
}

TEST_P(execute_compensation_contract, an_exception_of_a_step_may_be_turned_into_a_failure) {
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    try {
      flow.step("two", [&]() -> std::string {
        till_->charge("two");
        throw card_declined();
      });
    } catch (const card_declined& why) {
      flow.fail({402, {}, why.what()});
    }
    return receipt();
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->body, "card declined");
  EXPECT_EQ(charges("two"), 0);
  EXPECT_EQ(charges("undo one"), 1);
}

TEST_P(execute_compensation_contract, steps_without_a_compensation_stay) {
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) -> answer {
    const auto lasting = [&](const std::string& name) {
      flow.step(name, [&] { return till_->charge(name), std::string(); });
    };
    lasting("log the order");
    pay(flow, *till_, "one");
    lasting("send a mail");
    flow.fail({402, {}, "declined"});
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->status, 402);
  EXPECT_EQ(undone_, (names{"one"}));
  EXPECT_EQ(charges("send a mail"), 1);
  EXPECT_EQ(charges("log the order"), 1);
}

TEST_P(execute_compensation_contract, a_failure_before_any_step_is_an_answer) {
  const steps_work refused = [&](steps& flow) -> answer {
    ++runs_;
    flow.fail({422, {}, "no such article"});
  };
  EXPECT_EQ(till_->execute_steps(order_, {}, refused)->answer->status, 422);
  const auto again = till_->execute_steps(order_, {}, refused);
  EXPECT_EQ(again->kind, verdict_kind::replay);
  EXPECT_EQ(again->answer->body, "no such article");
  EXPECT_EQ(runs_, 1);
}

TEST_P(execute_compensation_contract, work_that_hides_the_failure_fails_all_the_same) {
  const auto reply = till_->execute_steps(order_, {}, [&](steps& flow) {
    pay(flow, *till_, "one");
    try {
      flow.step("two", [&]() -> std::string {
        try {
          flow.fail({402, {}, "declined"});
        } catch (...) {
          return "as if nothing had happened";
        }
      });
    } catch (...) {  // the same
    }
    EXPECT_ANY_THROW(pay(flow, *till_, "three"));
    EXPECT_ANY_THROW(flow.fail({500, {}, "another failure"}));
    return receipt();
  });
  ASSERT_TRUE(reply) << reply.error().detail;
  EXPECT_EQ(reply->answer->body, "declined");
  EXPECT_EQ(charges("undo one"), 1);
  EXPECT_EQ(charges("three"), 0);
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->body, "declined");
}

TEST_P(execute_compensation_contract, an_attempt_that_was_overtaken_compensates_nothing) {
  execute_policy hasty;
  hasty.lease = milliseconds(1);
  const auto other = open();
  const auto reply = till_->execute_steps(order_, hasty, [&](steps& flow) -> answer {
    for (const auto* name : {"one", "two", "three"}) pay(flow, *till_, name);
    EXPECT_EQ(insist(*other, declined(*other))->answer->body, "declined");
    undone_.push_back("by the first attempt:");
    flow.fail({500, {}, "another failure"});
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  EXPECT_EQ(undone_.back(), "by the first attempt:");
  expect_all_undone();
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->body, "declined");
}

TEST_P(execute_compensation_contract, a_misspelt_status_is_refused_before_anything_is_undone) {
  const steps_work wrong = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    flow.fail({0, {}, "no status"});
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, wrong)), std::invalid_argument);
  EXPECT_TRUE(undone_.empty());
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->status, 402);
}

TEST_P(execute_compensation_contract, compensations_neither_fail_for_good_nor_have_steps) {
  const auto in_compensation = [&](void (*act)(steps&)) -> steps_work {
    return [act](steps& flow) -> answer {
      flow.step(
          "one", [] { return std::string(); }, [&, act](const std::string&) { act(flow); });
      flow.fail({402, {}, "declined"});
    };
  };
  const auto fails = in_compensation([](steps& flow) { flow.fail({500, {}, ""}); });
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, fails)), std::logic_error);
  const auto nests =
      in_compensation([](steps& flow) { flow.step("within", [] { return std::string(); }); });
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, nests)), std::logic_error);
  const auto good = in_compensation([](steps&) {});
  EXPECT_EQ(till_->execute_steps(order_, {}, good)->answer->body, "declined");
}

TEST_P(execute_compensation_contract, names_and_order_are_checked_on_the_way_back_too) {
  cut_at_ = "two";
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
  cut_at_.clear();
  const steps_work other_order = [&](steps& flow) { return receipt(pay(flow, *till_, "two")); };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, other_order)), std::logic_error);
  const steps_work too_short = [&](steps& flow) { return receipt(pay(flow, *till_, "one")); };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, too_short)), std::logic_error);
  EXPECT_EQ(charges("undo two"), 0);
  EXPECT_EQ(charges("undo one"), 0);
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->body, "declined");
  expect_all_undone();
}

TEST_P(execute_compensation_contract, a_failure_ahead_of_what_is_done_leaves_nothing_behind) {
  const steps_work cut = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    pay(flow, *till_, "two");
    throw power_cut();
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, cut)), power_cut);
  const steps_work fails_early = [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    flow.fail({410, {}, "too late"});
  };
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, fails_early)), std::logic_error);
  EXPECT_TRUE(undone_.empty()) << "the second step would have been left";
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->body, "declined");
  expect_all_undone();
}

TEST_P(execute_compensation_contract,
       another_fingerprint_neither_compensates_nor_sees_the_failure) {
  cut_at_ = "two";
  EXPECT_THROW(static_cast<void>(till_->execute_steps(order_, {}, declined(*till_))), power_cut);
  cut_at_.clear();
  const request other{"ada", "order-1", "amount=50"};
  EXPECT_EQ(till_->execute_steps(other, {}, declined(*till_))->kind, verdict_kind::mismatch);
  EXPECT_EQ(till_->execute_steps(order_, {}, declined(*till_))->answer->status, 402);
  EXPECT_EQ(till_->execute_steps(other, {}, declined(*till_))->kind, verdict_kind::mismatch);
}

/// Where two transactions are open at the same time, an attempt is also overtaken within one.
class execute_compensation_overlap : public execute_compensation_contract {};

TEST_P(execute_compensation_overlap, a_compensation_that_ends_after_a_takeover_is_rolled_back) {
  execute_policy hasty;
  hasty.lease = milliseconds(1);
  const auto other = open();
  const auto reply = till_->execute_steps(order_, hasty, [&](steps& flow) -> answer {
    pay(flow, *till_, "one");
    flow.step(
        "two", [&] { return till_->charge("two"), std::string("receipt two"); },
        [&](const std::string&) {
          till_->charge("undo two");
          EXPECT_EQ(insist(*other, declined(*other))->answer->body, "declined");
        });
    pay(flow, *till_, "three");
    flow.fail({402, {}, "declined"});
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().effect, effect::unknown);
  EXPECT_EQ(undone_, (names{"three", "two", "one"}));
  expect_all_undone();
}

INSTANTIATE_TEST_SUITE_P(libraries, execute_compensation_contract, ::testing::ValuesIn(libraries),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(libraries, execute_compensation_overlap,
                         ::testing::Values(libraries[0], libraries[1]),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onceguard::testing
