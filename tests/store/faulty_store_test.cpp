// The faulty store of the test support: injected faults, delays and counted calls.
#include "support/faulty_store.hpp"

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard::testing {
namespace {

class faulty_store_test : public ::testing::Test {
 protected:
  [[nodiscard]] bool known(const claim& request) {
    blocking_store behind(inner_);
    return behind.find(request.id).has_value();
  }
  void expect_fault(store_fault fault, errc code, effect on_store, bool carried_out) {
    const auto request = claim_of("k" + std::to_string(static_cast<int>(fault)));
    faulty_.fail(store_call::claim, fault, 1);
    const auto verdict = caller_.try_claim(request);
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, code);
    EXPECT_EQ(verdict.error().effect, on_store);
    EXPECT_EQ(known(request), carried_out);
    EXPECT_EQ(caller_.leased(request).claim_id, request.claim_id);  // the fault hits one call only
  }

  base::manual_clock clock_;
  memory_store inner_{clock_};
  faulty_store faulty_{inner_};
  blocking_store caller_{faulty_};
};

TEST_F(faulty_store_test, each_fault_reports_its_error_and_its_effect_on_the_store) {
  expect_fault(store_fault::before, errc::store_unreachable, effect::none, false);
  expect_fault(store_fault::after, errc::store_unreachable, effect::done, true);
  expect_fault(store_fault::after_timeout, errc::store_unreachable, effect::unknown, true);
  expect_fault(store_fault::before_timeout, errc::store_unreachable, effect::unknown, false);
  expect_fault(store_fault::full, errc::store_full, effect::none, false);
  expect_fault(store_fault::lost, errc::store_lost, effect::none, false);
  expect_fault(store_fault::unreadable, errc::record_unreadable, effect::none, false);
  expect_fault(store_fault::too_big, errc::invalid_argument, effect::none, false);
}

TEST_F(faulty_store_test, a_delayed_call_waits_until_it_is_let_go) {
  for (const auto fault : {store_fault::delay_before, store_fault::delay_after}) {
    faulty_.fail(store_call::claim, fault, 1);
    const auto request = claim_of(fault == store_fault::delay_before ? "before" : "after");
    boost::asio::io_context context;
    bool answered = false;
    const auto note = [&](std::exception_ptr, const std::vector<result<verdict>>& items) {
      answered = items.at(0).has_value();
    };
    boost::asio::co_spawn(context, faulty_.claim({request}, patience), note);
    context.poll();
    EXPECT_EQ(faulty_.waiting(), 1u);
    EXPECT_FALSE(answered);
    EXPECT_EQ(known(request), fault == store_fault::delay_after);
    faulty_.let_go();
    context.run();
    EXPECT_TRUE(answered);
    EXPECT_EQ(faulty_.waiting(), 0u);
    EXPECT_TRUE(known(request));
  }
}

TEST_F(faulty_store_test, fail_all_fails_every_call_until_heal_all_and_calls_are_counted) {
  faulty_.fail_all(store_fault::before);
  EXPECT_FALSE(caller_.try_claim(claim_of("k")));
  EXPECT_FALSE(caller_.try_find(claim_of("k").id));
  EXPECT_FALSE(caller_.try_sweep(1));
  faulty_.heal_all();
  EXPECT_TRUE(caller_.try_claim(claim_of("k")));
  EXPECT_EQ(faulty_.made(store_call::claim), 2u);
  EXPECT_EQ(faulty_.made(store_call::settle), 0u);
}

TEST_F(faulty_store_test, imports_are_passed_on_and_can_fail) {
  imported_record request;
  request.id = claim_of("k").id;
  request.stored.about = subject_of("k");
  request.stored.state = record_state::completed;
  request.retention_left = day;
  faulty_.fail(store_call::import_record, store_fault::after_timeout, 1);
  EXPECT_EQ(caller_.try_import(request).error().effect, effect::unknown);
  EXPECT_EQ(caller_.import_record(request), import_outcome::already_there);
  EXPECT_EQ(faulty_.made(store_call::import_record), 2u);
}

TEST_F(faulty_store_test, pretended_vitals_show_another_store) {
  vitals current;
  current.identity = "another";
  faulty_.pretend(current);
  EXPECT_EQ(caller_.vitals().identity, "another");
  faulty_.pretend(std::nullopt);
  EXPECT_NE(caller_.vitals().identity, "another");
}

}  // namespace
}  // namespace onceguard::testing
