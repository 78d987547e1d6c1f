// The inbox inside a transaction, on each database alike.
#include <algorithm>
#include <atomic>
#include <future>

#include "base/clock.hpp"
#include "messaging/inbox/inbox_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

struct declined : std::runtime_error {
  declined() : std::runtime_error("card declined") {}
};

class inbox_contract : public ::testing::TestWithParam<library_under_test> {
 protected:
  [[nodiscard]] std::unique_ptr<inbox_till> open() const {
    return std::make_unique<inbox_till>(shop_->open());
  }
  [[nodiscard]] int charges(const std::string& customer) const { return shop_->charges(customer); }

  /// Charges the customer that the payload names.
  message_handler charging(inbox_till& till) {
    return [this, &till](const inbox_message& message, const lease&) {
      ++runs_;
      till.charge(std::string(message.payload));
    };
  }
  inbox_outcomes process_batch(const std::vector<inbox_message>& batch,
                               const message_handler& handler,
                               const inbox_policy& policy = impatient()) {
    auto got = till_->process("billing", policy, batch, handler);
    if (!got) throw std::runtime_error(got.error().detail);
    return std::move(*got);
  }
  inbox_outcome process(const inbox_message& message, const message_handler& handler,
                        const inbox_policy& policy = impatient()) {
    return process_batch({message}, handler, policy).at(0);
  }
  inbox_outcome process(const inbox_message& message) { return process(message, charging(*till_)); }

  /// Until the back-off of a millisecond is over.
  inbox_outcome process_when_due(const inbox_message& message, const message_handler& handler) {
    inbox_outcome out;
    wait_until("the end of the back-off", [&] {
      out = process(message, handler);
      return out.kind != inbox_result::busy;
    });
    return out;
  }

  std::unique_ptr<shop> shop_ = GetParam().make();
  std::atomic<int> runs_{0};
  const std::unique_ptr<inbox_till> till_ = open();
};

TEST_P(inbox_contract, each_message_takes_effect_once) {
  const auto first = process({"m1", "ada"});
  EXPECT_EQ(first.kind, inbox_result::handled);
  EXPECT_EQ(first.attempt, 1u);
  for (int i = 0; i < 3; ++i) {
    const auto again = process({"m1", "ada"});
    EXPECT_EQ(again.kind, inbox_result::duplicate);
    EXPECT_EQ(reply_to(again), broker_reply::acknowledge);
  }
  EXPECT_EQ(process({"m2", "ada"}).kind, inbox_result::handled);
  EXPECT_EQ(charges("ada"), 2);
  EXPECT_EQ(runs_, 2);
}

TEST_P(inbox_contract, each_subscriber_handles_a_message_itself) {
  const std::vector<inbox_message> batch{{"m1", "ada"}};
  for (const auto* const subscriber : {"billing", "mail", "billing"}) {
    till_->process(subscriber, impatient(), batch, charging(*till_)).value();
  }
  EXPECT_EQ(charges("ada"), 2);
}

TEST_P(inbox_contract, a_batch_has_an_outcome_for_each_message_in_its_order) {
  process({"m2", "bob"});
  const auto got =
      process_batch({{"m1", "ada"}, {"m2", "bob"}, {"m3", "cyd"}, {"m1", "ada"}}, charging(*till_));
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[0].kind, inbox_result::handled);
  EXPECT_EQ(got[1].kind, inbox_result::duplicate);
  EXPECT_EQ(got[2].kind, inbox_result::handled);
  EXPECT_EQ(got[3].kind, inbox_result::duplicate) << "twice in one batch";
  for (const auto* const customer : {"ada", "bob", "cyd"}) EXPECT_EQ(charges(customer), 1);
}

TEST_P(inbox_contract, an_empty_batch_has_no_outcomes) {
  EXPECT_TRUE(process_batch({}, charging(*till_)).empty());
}

TEST_P(inbox_contract, one_bad_message_does_not_fail_the_others) {
  const auto handler = [&](const inbox_message& message, const lease& held) {
    charging (*till_)(message, held);
    if (message.payload == "bob") throw declined();
  };
  const auto got = process_batch({{"m1", "ada"}, {"m2", "bob"}, {"m3", "cyd"}}, handler);
  EXPECT_EQ(got[0].kind, inbox_result::handled);
  EXPECT_EQ(got[1].kind, inbox_result::failed);
  EXPECT_EQ(got[1].reason, "card declined");
  EXPECT_EQ(reply_to(got[1]), broker_reply::give_back);
  EXPECT_EQ(got[2].kind, inbox_result::handled);
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(charges("bob"), 0) << "what it had written is undone";
  EXPECT_EQ(charges("cyd"), 1);
}

TEST_P(inbox_contract, one_record_that_cannot_be_read_does_not_keep_the_others_of_its_batch) {
  process({"m2", "bob"});
  till_->damage_records();
  int handled = 0;
  const auto got = process_batch({{"m1", "ada"}, {"m2", "bob"}, {"m3", "cyd"}},
                                 [&](const inbox_message& message, const lease& held) {
                                   ++handled;
                                   charging (*till_)(message, held);
                                 });
  EXPECT_EQ(handled, 2) << "each of the others once, whatever a handler does elsewhere";
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].kind, inbox_result::handled);
  EXPECT_EQ(got[1].kind, inbox_result::failed);
  EXPECT_EQ(got[1].attempt, 0u);
  EXPECT_GT(got[1].retry_after.count(), 0);
  EXPECT_NE(got[1].reason, "");
  EXPECT_EQ(reply_to(got[1]), broker_reply::give_back);
  EXPECT_EQ(got[2].kind, inbox_result::handled);
  for (const auto* const customer : {"ada", "bob", "cyd"}) EXPECT_EQ(charges(customer), 1);
  const std::vector<inbox_message> alone{{"m2", "bob"}};
  const auto refused = till_->process("billing", impatient(), alone, charging(*till_));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::record_unreadable);
}

TEST_P(inbox_contract, a_twin_has_the_outcome_of_its_first_and_not_of_its_neighbour) {
  const auto handler = [&](const inbox_message& message, const lease& held) {
    charging (*till_)(message, held);
    if (message.payload == "bob") throw declined();
  };
  const auto got =
      process_batch({{"m1", "ada"}, {"m2", "bob"}, {"m1", "ada"}, {"m2", "bob"}}, handler);
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(got[2].kind, inbox_result::duplicate);
  EXPECT_EQ(got[3].kind, inbox_result::failed);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(inbox_contract, the_record_backs_off_for_as_long_as_the_outcome_says) {
  const auto failing = [&](const inbox_message&, const lease&) {
    ++runs_;
    throw declined();
  };
  inbox_policy growing = impatient();
  growing.attempts = 100;
  growing.backoff_max = milliseconds(3'600'000);
  inbox_outcome next;
  milliseconds least{0};
  // A busy machine sleeps over one of them, and the next is twice as long.
  wait_until("a repeat amid a long back-off", [&] {
    const auto begin = base::boot_now();
    const auto got = process({"m1", "ada"}, failing, growing);
    if (got.kind != inbox_result::failed || got.retry_after < milliseconds(2'000)) return false;
    const auto runs = runs_.load();
    next = process({"m1", "ada"}, failing, growing);
    const auto passed = std::chrono::ceil<milliseconds>(base::boot_now() - begin);
    least = got.retry_after - passed - milliseconds(100);
    EXPECT_TRUE(runs_ == runs || least.count() <= 0) << "it ran amid its back-off";
    return next.kind == inbox_result::busy && runs_ == runs;
  });
  EXPECT_GT(next.retry_after, least);
}

TEST_P(inbox_contract, a_message_is_remembered_for_the_retention_and_no_longer) {
  inbox_policy brief = impatient();
  brief.retention = milliseconds(50);
  EXPECT_EQ(process({"m1", "ada"}, charging(*till_), brief).kind, inbox_result::handled);
  EXPECT_EQ(process({"m2", "ada"}).kind, inbox_result::handled);
  wait_until("the end of its retention", [&] {
    return process({"m1", "ada"}, charging(*till_), brief).kind == inbox_result::handled;
  });
  EXPECT_EQ(process({"m2", "ada"}).kind, inbox_result::duplicate);
}

TEST_P(inbox_contract, a_failure_is_counted_and_backed_off_and_ends_dead) {
  const auto failing = [&](const inbox_message&, const lease&) {
    ++runs_;
    throw declined();
  };
  inbox_policy slow = impatient();
  slow.backoff = slow.backoff_max = milliseconds(3'600'000);
  auto got = process({"m1", "ada"}, failing, slow);
  EXPECT_EQ(got.kind, inbox_result::failed);
  EXPECT_EQ(got.attempt, 1u);
  EXPECT_EQ(got.retry_after, milliseconds(3'600'000));
  got = process({"m1", "ada"}, failing);
  EXPECT_EQ(got.kind, inbox_result::busy) << "before its back-off is over";
  EXPECT_GT(got.retry_after, milliseconds(3'500'000));
  EXPECT_EQ(runs_, 1);

  EXPECT_EQ(process({"m2", "ada"}, failing).attempt, 1u);
  got = process_when_due({"m2", "ada"}, failing);
  EXPECT_EQ(got.kind, inbox_result::failed);
  EXPECT_EQ(got.attempt, 2u);
  EXPECT_EQ(got.retry_after, milliseconds(1)) << "the longest one";
  got = process_when_due({"m2", "ada"}, failing);
  EXPECT_EQ(got.kind, inbox_result::dead);
  EXPECT_EQ(got.attempt, 3u);
  EXPECT_EQ(got.reason, "card declined");
  EXPECT_EQ(reply_to(got), broker_reply::dead_letter);
  EXPECT_EQ(runs_, 4);
  got = process({"m2", "ada"});
  EXPECT_EQ(got.kind, inbox_result::dead) << "whoever redelivers it";
  EXPECT_EQ(got.reason, "card declined");
  EXPECT_EQ(charges("ada"), 0);
}

TEST_P(inbox_contract, a_message_that_failed_can_succeed_later) {
  EXPECT_EQ(process({"m1", "ada"}, [](const auto&, const auto&) { throw declined(); }).kind,
            inbox_result::failed);
  const auto got = process_when_due({"m1", "ada"}, charging(*till_));
  EXPECT_EQ(got.kind, inbox_result::handled);
  EXPECT_EQ(got.attempt, 2u);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_P(inbox_contract, a_rejected_message_is_dead_at_once) {
  const auto got = process({"m1", "ada"}, [&](const auto&, const auto&) {
    till_->charge("ada");
    throw message_rejected("no such account");
  });
  EXPECT_EQ(got.kind, inbox_result::dead);
  EXPECT_EQ(got.reason, "no such account");
  EXPECT_EQ(charges("ada"), 0);
}

TEST_P(inbox_contract, the_id_of_another_message_is_no_duplicate) {
  process({"m1", "ada"});
  const auto got = process({"m1", "bob"});
  EXPECT_EQ(got.kind, inbox_result::reused);
  EXPECT_EQ(reply_to(got), broker_reply::dead_letter);
  EXPECT_EQ(charges("bob"), 0);
  const auto twins = process_batch({{"m2", "ada"}, {"m2", "bob"}}, charging(*till_));
  EXPECT_EQ(twins[1].kind, inbox_result::reused);
  EXPECT_EQ(charges("bob"), 0);
  const auto behind = process_batch({{"m2", "bob"}, {"m2", "ada"}}, charging(*till_));
  EXPECT_EQ(behind[0].kind, inbox_result::reused);
  EXPECT_EQ(behind[1].kind, inbox_result::busy) << "an honest duplicate behind it";
  EXPECT_EQ(process({"m2", "ada"}).kind, inbox_result::duplicate);
  inbox_policy id_only = impatient();
  id_only.compare_payloads = false;
  process({"m3", "ada"}, charging(*till_), id_only);
  EXPECT_EQ(process({"m3", "bob"}, charging(*till_), id_only).kind, inbox_result::duplicate);
  EXPECT_EQ(charges("bob"), 0);
}

TEST_P(inbox_contract, a_message_whose_id_can_not_be_one_is_dead) {
  const std::string long_id(256, 'x');
  const auto got = process_batch({{"", "ada"}, {long_id, "ada"}, {"m1", "ada"}}, charging(*till_));
  EXPECT_EQ(got[0].kind, inbox_result::dead);
  EXPECT_EQ(got[1].kind, inbox_result::dead);
  EXPECT_EQ(got[2].kind, inbox_result::handled);
  EXPECT_EQ(charges("ada"), 1);
  EXPECT_EQ(process({std::string(255, 'x'), "ada"}).kind, inbox_result::handled);
}

TEST_P(inbox_contract, ids_are_bytes) {
  const std::string id("\0'\xff\\", 4);
  EXPECT_EQ(process({id, "ada"}).kind, inbox_result::handled);
  EXPECT_EQ(process({id, "ada"}).kind, inbox_result::duplicate);
}

TEST_P(inbox_contract, a_statement_that_fails_undoes_its_message_alone) {
  const auto handler = [&](const inbox_message& message, const lease&) {
    till_->charge(std::string(message.payload));
    if (message.payload == "bob") till_->run("SELECT nonsense");
  };
  const auto got = process_batch({{"m1", "ada"}, {"m2", "bob"}, {"m3", "cyd"}}, handler);
  EXPECT_EQ(got[0].kind, inbox_result::handled);
  EXPECT_EQ(got[1].kind, inbox_result::failed);
  EXPECT_EQ(got[2].kind, inbox_result::handled);
  EXPECT_EQ(charges("bob"), 0);
  EXPECT_EQ(charges("cyd"), 1);
}

TEST_P(inbox_contract, a_handler_that_ends_the_transaction_is_an_error) {
  const auto handler = [&](const inbox_message&, const lease&) { till_->run("ROLLBACK"); };
  const std::vector<inbox_message> batch{{"m1", "ada"}};
  const auto got = till_->process("billing", impatient(), batch, handler);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::conflict);
  EXPECT_EQ(got.error().effect, effect::unknown);
  EXPECT_EQ(process({"m1", "ada"}).kind, inbox_result::handled);
}

TEST_P(inbox_contract, a_connection_in_a_transaction_is_refused) {
  till_->run("BEGIN");
  const std::vector<inbox_message> batch{{"m1", "ada"}};
  const auto got = till_->process("billing", impatient(), batch, charging(*till_));
  EXPECT_EQ(got.error().code, errc::conflict);
  till_->run("COMMIT");
}

TEST_P(inbox_contract, many_consumers_of_the_same_messages_have_one_effect_each) {
  constexpr int messages = 40;
  std::vector<std::string> ids;
  for (int i = 0; i < messages; ++i) ids.push_back("m" + std::to_string(i));
  const auto consume = [&](int seed) {
    const auto till = open();
    auto order = ids;
    std::rotate(order.begin(), order.begin() + seed * 7, order.end());
    std::size_t done = 0;
    while (done < order.size()) {
      std::vector<inbox_message> batch;
      for (std::size_t i = done; i < std::min(done + 8, order.size()); ++i) {
        batch.push_back({order[i], "ada"});
      }
      const auto got = till->process("billing", impatient(), batch, charging(*till));
      if (!got) throw std::runtime_error(got.error().detail);
      // In their order: a busy one is asked for again, with those behind it.
      const auto waiting = std::find_if(got->begin(), got->end(), [](const auto& one) {
        return reply_to(one) != broker_reply::acknowledge;
      });
      done += static_cast<std::size_t>(waiting - got->begin());
    }
  };
  std::vector<std::future<void>> all;
  for (int i = 0; i < 5; ++i) all.push_back(std::async(std::launch::async, consume, i));
  for (auto& one : all) one.get();
  EXPECT_EQ(charges("ada"), messages);
}

INSTANTIATE_TEST_SUITE_P(databases, inbox_contract, ::testing::ValuesIn(databases()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace onceguard::testing
