// Exactly once inside the caller's transaction, by each client library alike.
#include <future>
#include <numeric>

#include "execute/execute_fixture.hpp"

namespace onceguard::testing {
namespace {

class execute_contract : public execute_fixture {};

TEST_P(execute_contract, a_repeat_gets_the_first_answer_and_does_not_run) {
  const auto first = till_->execute(order_, {}, charging(*till_, "ada"));
  ASSERT_TRUE(first) << first.error().detail;
  EXPECT_EQ(first->kind, verdict_kind::run);
  EXPECT_EQ(first->lease.attempt, 1u);
  EXPECT_EQ(*first->answer, receipt());
  const auto again = open()->execute(order_, {}, charging(*till_, "ada", receipt("another")));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->kind, verdict_kind::replay);
  EXPECT_EQ(*again->answer, receipt());
  EXPECT_EQ(again->kept, answer_kept::full);
  EXPECT_GT(again->retention_left, milliseconds(0));
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(runs_, 1);
}

TEST_P(execute_contract, the_same_key_for_something_else_is_a_mismatch) {
  till_->execute(order_, {}, charging(*till_, "ada")).value();
  const request other{"ada", "order-1", "amount=50"};
  EXPECT_EQ(till_->execute(other, {}, charging(*till_, "ada"))->kind, verdict_kind::mismatch);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, a_key_never_crosses_scopes) {
  till_->execute(order_, {}, charging(*till_, "ada")).value();
  const request other{"bob", "order-1", "amount=5"};
  EXPECT_EQ(till_->execute(other, {}, charging(*till_, "bob"))->kind, verdict_kind::run);
  EXPECT_EQ(charges("bob"), 1);
}

TEST_P(execute_contract, an_exception_leaves_nothing_behind_and_a_repeat_runs) {
  const auto failing = [&](const lease&) -> answer {
    till_->charge("ada");
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute(order_, {}, failing)), card_declined);
  EXPECT_EQ(charges("ada"), 0);
  const auto again = till_->execute(order_, {}, charging(*till_, "ada"));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, after_an_exception_the_key_is_free_for_another_request) {
  const auto failing = [](const lease&) -> answer { throw card_declined(); };
  EXPECT_THROW(static_cast<void>(till_->execute(order_, {}, failing)), card_declined);
  const request corrected{"ada", "order-1", "amount=7"};
  EXPECT_EQ(till_->execute(corrected, {}, charging(*till_, "ada"))->kind, verdict_kind::run);
}

TEST_P(execute_contract, tokens_grow_from_attempt_to_attempt) {
  token first = 0;
  const auto failing = [&](const lease& held) -> answer {
    first = held.token;
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute(order_, {}, failing)), card_declined);
  const auto again = till_->execute(order_, {}, charging(*till_, "ada"));
  EXPECT_GT(again->lease.token, first);
}

TEST_P(execute_contract, what_is_no_answer_is_refused_and_rolled_back) {
  const auto without_status = [&](const lease&) {
    till_->charge("ada");
    return answer{};
  };
  EXPECT_THROW(static_cast<void>(till_->execute(order_, {}, without_status)),
               std::invalid_argument);
  EXPECT_EQ(charges("ada"), 0);
}

TEST_P(execute_contract, a_key_has_1_to_255_bytes) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{256}}) {
    const auto reply = till_->execute({"ada", std::string(size, 'k')}, {}, charging(*till_, "ada"));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, errc::invalid_argument);
  }
  EXPECT_EQ(runs_, 0);
  EXPECT_EQ(till_->execute({"ada", std::string(255, 'k')}, {}, charging(*till_, "ada"))->kind,
            verdict_kind::run);
}

TEST_P(execute_contract, an_answer_is_kept_for_as_long_as_the_policy_says) {
  execute_policy policy;
  policy.retention = std::chrono::hours(2);
  till_->execute(order_, policy, charging(*till_, "ada")).value();
  const auto left = till_->execute(order_, {}, charging(*till_, "ada"))->retention_left;
  EXPECT_LE(left, policy.retention);
  EXPECT_GT(left, policy.retention / 2);
}

TEST_P(execute_contract, an_answer_may_be_kept_for_ever_and_waited_for_as_long) {
  execute_policy policy;
  policy.retention = policy.wait = milliseconds::max();
  for (const auto expected : {verdict_kind::run, verdict_kind::replay}) {
    const auto reply = till_->execute(order_, policy, charging(*till_, "ada"));
    ASSERT_TRUE(reply) << reply.error().detail;
    EXPECT_EQ(reply->kind, expected);
  }
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, a_policy_that_keeps_no_answer_is_refused) {
  for (const auto nothing : {milliseconds(0), milliseconds(-1)}) {
    execute_policy policy;
    policy.retention = nothing;
    const auto reply = till_->execute(order_, policy, charging(*till_, "ada"));
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, errc::invalid_argument);
  }
  EXPECT_EQ(runs_, 0) << "each repeat would run";
}

TEST_P(execute_contract, every_byte_of_key_and_answer_comes_back) {
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  const request odd{all, all.substr(0, 255), all};
  const answer bytes{999,
                     {{"Link", "a"}, {"Link", "b"}, {"Empty", ""}, {"X", all}, {"", ""}},
                     all + std::string(3u << 20, '\xfe') + '\0'};
  till_->execute(odd, {}, charging(*till_, "ada", bytes)).value();
  EXPECT_EQ(*open()->execute(odd, {}, charging(*till_, "ada"))->answer, bytes);
  const request plain{"ada", "plain"};
  till_->execute(plain, {}, charging(*till_, "ada", {200, {}, ""})).value();
  EXPECT_EQ(*till_->execute(plain, {}, charging(*till_, "ada"))->answer, (answer{200, {}, ""}));
}

// --- within the caller's own transaction ---------------------------------------------------

TEST_P(execute_contract, within_a_transaction_the_caller_commits) {
  till_->begin_and_read("READ COMMITTED");
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::run);
  till_->roll_back();
  EXPECT_EQ(charges("ada"), 0);
  till_->begin_and_read("READ COMMITTED");
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::run);
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::replay);
  till_->commit();
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(open()->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::replay);
}

TEST_P(execute_contract, within_a_transaction_an_exception_undoes_its_own_part_alone) {
  till_->begin_and_read("READ COMMITTED");
  till_->charge("before");
  const auto failing = [&](const lease&) -> answer {
    till_->charge("ada");
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_->execute(order_, {}, failing)), card_declined);
  till_->charge("after");
  till_->commit();
  EXPECT_EQ(charges("before"), 1);
  EXPECT_EQ(charges("ada"), 0);
  EXPECT_EQ(charges("after"), 1);
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::run);
}

TEST_P(execute_contract, one_operation_may_contain_another) {
  const auto outer = [&](const lease&) {
    const request part{"ada", "part-1"};
    till_->execute(part, {}, charging(*till_, "part")).value();
    till_->charge("ada");
    return receipt();
  };
  EXPECT_EQ(till_->execute(order_, {}, outer)->kind, verdict_kind::run);
  EXPECT_EQ(charges("part"), 1);
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(open()->execute({"ada", "part-1"}, {}, charging(*till_, "part"))->kind,
            verdict_kind::replay);
}

TEST_P(execute_contract, an_old_snapshot_is_reported_so_and_never_runs_a_second_time) {
  const auto other = open();
  till_->begin_and_read("SERIALIZABLE");
  other->execute(order_, {}, charging(*other, "ada")).value();
  other->execute({"ada", "order-2"}, {}, charging(*other, "ada")).value();
  const auto reply = till_->execute(order_, {}, charging(*till_, "ada"));
  if (reply) {  // a snapshot that still sees it
    EXPECT_EQ(reply->kind, verdict_kind::replay);
  } else {
    EXPECT_EQ(reply.error().code, errc::write_conflict);
    EXPECT_EQ(reply.error().effect, effect::none);
    EXPECT_TRUE(reply.error().retryable());
  }
  till_->roll_back();
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(till_->execute(order_, {}, charging(*till_, "ada"))->kind, verdict_kind::replay);
}

// --- at the same time -----------------------------------------------------------------------

/// Somebody who has begun to work on the order, and goes on when the test says so.
class somebody {
 public:
  somebody(till& till, const request& request, const effect_work& does)
      : reported_(std::async(std::launch::async, [this, &till, request, does] {
          return till.execute(request, {}, [&](const lease& held) {
            begun_.set_value();
            go_on_.get_future().wait();
            return does(held);
          });
        })) {
    begun_.get_future().wait();
  }
  result<verdict> finish() {
    go_on_.set_value();
    return reported_.get();
  }

 private:
  std::promise<void> begun_, go_on_;
  std::future<result<verdict>> reported_;
};

TEST_P(execute_contract, a_duplicate_is_reported_busy_at_once_or_after_its_patience) {
  const auto other = open();
  somebody first(*other, order_, charging(*other, "ada"));
  const auto rejected = till_->execute(order_, reported_at_once(), charging(*till_, "ada"));
  ASSERT_TRUE(rejected) << rejected.error().detail;
  EXPECT_EQ(rejected->kind, verdict_kind::busy);
  EXPECT_GT(rejected->retry_after, milliseconds(0));
  execute_policy short_patience;
  short_patience.wait = milliseconds(30);
  EXPECT_EQ(till_->execute(order_, short_patience, charging(*till_, "ada"))->kind,
            verdict_kind::busy);
  EXPECT_EQ(first.finish()->kind, verdict_kind::run);
  EXPECT_EQ(till_->execute(order_, reported_at_once(), charging(*till_, "ada"))->kind,
            verdict_kind::replay);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, a_duplicate_that_waits_gets_the_first_answer) {
  const auto other = open();
  somebody first(*other, order_, charging(*other, "ada"));
  std::promise<void> asking;
  auto reply = std::async(std::launch::async, [&] {
    asking.set_value();
    return till_->execute(order_, {}, charging(*till_, "ada", receipt("another")));
  });
  asking.get_future().wait();
  EXPECT_EQ(first.finish()->kind, verdict_kind::run);
  const auto second = reply.get();
  ASSERT_TRUE(second) << second.error().detail;
  EXPECT_EQ(second->kind, verdict_kind::replay);
  EXPECT_EQ(*second->answer, receipt());
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, a_duplicate_that_waits_runs_where_the_first_gave_up) {
  const auto other = open();
  somebody first(*other, order_, [](const lease&) -> answer { throw card_declined(); });
  auto reply = std::async(std::launch::async,
                          [&] { return till_->execute(order_, {}, charging(*till_, "ada")); });
  EXPECT_THROW(static_cast<void>(first.finish()), card_declined);
  EXPECT_EQ(reply.get()->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(execute_contract, of_many_at_once_one_runs_whatever_their_isolation) {
  using level = isolation_level;
  for (const auto isolation :
       {level::read_committed, level::repeatable_read, level::serializable}) {
    const auto owner = "level-" + std::to_string(static_cast<int>(isolation));
    execute_policy policy;
    policy.isolation = isolation;
    policy.conflict_retries = 50;
    std::atomic<int> ran{0};
    std::vector<std::future<void>> customers;
    for (int i = 0; i < 8; ++i) {
      customers.push_back(std::async(std::launch::async, [&] {
        const auto mine = open();
        for (int n = 0; n < 5; ++n) {
          const request request{"ada", owner + "-" + std::to_string(n)};
          const auto reply = mine->execute(request, policy, charging(*mine, owner));
          ASSERT_TRUE(reply) << reply.error().detail;
          ASSERT_TRUE(reply->kind == verdict_kind::run || reply->kind == verdict_kind::replay);
          EXPECT_EQ(*reply->answer, receipt());
          if (reply->kind == verdict_kind::run) ++ran;
        }
      }));
    }
    for (auto& each : customers) each.get();
    EXPECT_EQ(ran, 5);
    EXPECT_EQ(charges(owner), 5);
    if (!GetParam().levels) break;
  }
}

INSTANTIATE_TEST_SUITE_P(libraries, execute_contract, ::testing::ValuesIn(libraries),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace onceguard::testing
