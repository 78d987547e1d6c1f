#include "store/faulty_store.hpp"

#include <gtest/gtest.h>

#include "store/acts.hpp"
#include "store/memory/memory_store.hpp"

namespace onceguard::testing {
namespace {

class faulty_store_test : public ::testing::Test {
 protected:
  [[nodiscard]] bool known(const claim& asked) {
    desk behind(inner_);
    return behind.find(asked.id).has_value();
  }
  void expect_fault(store_fault fault, errc code, effect on_store, bool carried_out) {
    const auto asked = claim_of("k" + std::to_string(static_cast<int>(fault)));
    faulty_.fail(store_call::claim, fault, 1);
    const auto told = desk_.try_claim(asked);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, code);
    EXPECT_EQ(told.error().effect, on_store);
    EXPECT_EQ(known(asked), carried_out);
    EXPECT_EQ(desk_.leased(asked).claim_id, asked.claim_id);  // healed after one
  }

  base::manual_clock clock_;
  memory_store inner_{clock_};
  faulty_store faulty_{inner_};
  desk desk_{faulty_};
};

TEST_F(faulty_store_test, fails_as_told_and_says_what_it_would) {
  expect_fault(store_fault::before, errc::store_unreachable, effect::none, false);
  expect_fault(store_fault::after, errc::store_unreachable, effect::done, true);
  expect_fault(store_fault::after_timeout, errc::store_unreachable, effect::unknown, true);
  expect_fault(store_fault::before_timeout, errc::store_unreachable, effect::unknown, false);
  expect_fault(store_fault::full, errc::store_full, effect::none, false);
  expect_fault(store_fault::lost, errc::store_lost, effect::none, false);
  expect_fault(store_fault::unreadable, errc::record_unreadable, effect::none, false);
  expect_fault(store_fault::too_big, errc::invalid_argument, effect::none, false);
}

TEST_F(faulty_store_test, delays_until_let_go) {
  for (const auto fault : {store_fault::delay_before, store_fault::delay_after}) {
    faulty_.fail(store_call::claim, fault, 1);
    const auto asked = claim_of(fault == store_fault::delay_before ? "before" : "after");
    boost::asio::io_context context;
    bool answered = false;
    const auto note = [&](std::exception_ptr, const std::vector<result<verdict>>& told) {
      answered = told.at(0).has_value();
    };
    boost::asio::co_spawn(context, faulty_.claim({asked}, patience), note);
    context.poll();
    EXPECT_EQ(faulty_.waiting(), 1u);
    EXPECT_FALSE(answered);
    EXPECT_EQ(known(asked), fault == store_fault::delay_after);
    faulty_.let_go();
    context.run();
    EXPECT_TRUE(answered);
    EXPECT_EQ(faulty_.waiting(), 0u);
    EXPECT_TRUE(known(asked));
  }
}

TEST_F(faulty_store_test, fails_everything_until_healed_and_counts_the_calls) {
  faulty_.fail_all(store_fault::before);
  EXPECT_FALSE(desk_.try_claim(claim_of("k")));
  EXPECT_FALSE(desk_.try_find(claim_of("k").id));
  EXPECT_FALSE(desk_.try_sweep(1));
  faulty_.heal_all();
  EXPECT_TRUE(desk_.try_claim(claim_of("k")));
  EXPECT_EQ(faulty_.made(store_call::claim), 2u);
  EXPECT_EQ(faulty_.made(store_call::settle), 0u);
}

TEST_F(faulty_store_test, passes_imports_on_and_lets_them_fail) {
  imported_record what;
  what.id = claim_of("k").id;
  what.stored.about = subject_of("k");
  what.stored.state = record_state::completed;
  what.retention_left = day;
  faulty_.fail(store_call::import_record, store_fault::after_timeout, 1);
  EXPECT_EQ(desk_.try_import(what).error().effect, effect::unknown);
  EXPECT_EQ(desk_.import_record(what), import_outcome::already_there);
  EXPECT_EQ(faulty_.made(store_call::import_record), 2u);
}

TEST_F(faulty_store_test, pretends_to_be_another_store) {
  vitals told;
  told.identity = "another";
  faulty_.pretend(told);
  EXPECT_EQ(desk_.vitals().identity, "another");
  faulty_.pretend(std::nullopt);
  EXPECT_NE(desk_.vitals().identity, "another");
}

}  // namespace
}  // namespace onceguard::testing
