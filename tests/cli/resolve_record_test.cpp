// What `keys release` and `keys complete` report if the store does not answer in time.
#include "cli/keys/resolve_record.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/run.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class resolve_record_test : public ::testing::Test {
 protected:
  /// An operation whose outcome is unknown.
  void leave_unknown() {
    caller_.leased(request_);
    clock_.advance(lease_length + request_.about->run_timeout);
  }
  int resolve(bool completed) {
    cli::keys::found_record before;
    before.record = caller_.find(request_.id);
    resolution change;
    change.id = request_.id;
    change.token = before.record->stored.token;
    change.completed = completed;
    change.keep_completed = before.record->state != observed_state::completed;
    if (meanwhile_) meanwhile_();
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const auto changes = cli::change_log::open({}, "keys", "");
    const int code = run(cli::keys::resolve_record(faulty_, std::move(before), change, *changes,
                                                   second, milliseconds(500)));
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  base::manual_clock clock_;
  memory_store inner_{clock_};
  faulty_store faulty_{inner_};
  blocking_store caller_{inner_};
  const claim request_ = claim_of("order-1");
  std::function<void()> meanwhile_;
  std::string out_, err_;
};

TEST_F(resolve_record_test, what_is_completed_between_the_look_and_the_release_stays_completed) {
  const auto held = caller_.leased(request_);
  clock_.advance(lease_length + request_.about->run_timeout);
  meanwhile_ = [&] { caller_.settle(settle_of(request_, held)); };
  EXPECT_EQ(resolve(false), cli::exit_failed);
  EXPECT_THAT(err_, HasSubstr("it was completed just now"));
  EXPECT_EQ(caller_.claim(claim_of("order-1")).kind, verdict_kind::replay);
  meanwhile_ = nullptr;
  EXPECT_EQ(resolve(false), cli::exit_ok);
}

TEST_F(resolve_record_test, what_ran_again_between_the_look_and_the_act_stays_as_it_is) {
  leave_unknown();
  for (const bool completed : {false, true}) {
    meanwhile_ = [&] {
      resolution other;
      other.id = request_.id;
      other.force = true;
      caller_.resolve(other);
      caller_.leased(claim_of("order-1"));
      clock_.advance(lease_length + request_.about->run_timeout);
    };
    EXPECT_EQ(resolve(completed), cli::exit_failed);
    EXPECT_THAT(err_, HasSubstr("it has changed since it was seen"));
    EXPECT_EQ(caller_.seen(request_.id).state, observed_state::unknown);
  }
}

TEST_F(resolve_record_test, a_release_that_took_longer_than_the_timeout_is_reported_as_done) {
  leave_unknown();
  faulty_.fail(store_call::resolve, store_fault::after_timeout);
  EXPECT_EQ(resolve(false), cli::exit_ok);
  EXPECT_THAT(out_, HasSubstr("released: the next request with this key runs the operation again"));
}

TEST_F(resolve_record_test, a_completion_that_took_longer_than_the_timeout_is_reported_as_done) {
  leave_unknown();
  faulty_.fail(store_call::resolve, store_fault::after_timeout);
  EXPECT_EQ(resolve(true), cli::exit_ok);
  EXPECT_EQ(out_, "completed\n");
}

TEST_F(resolve_record_test, a_slow_release_of_a_completed_record_still_waits_for_the_caches) {
  caller_.completed(request_);
  faulty_.fail(store_call::resolve, store_fault::after_timeout);
  EXPECT_EQ(resolve(false), cli::exit_ok);
  EXPECT_THAT(err_, HasSubstr("until no gateway can answer as before"));
}

TEST_F(resolve_record_test, a_completion_by_the_holder_is_not_taken_for_the_operators) {
  const auto held = caller_.leased(request_);
  clock_.advance(lease_length + request_.about->run_timeout);
  meanwhile_ = [&] { caller_.settle(settle_of(request_, held)); };
  faulty_.fail(store_call::resolve, store_fault::before_timeout);
  EXPECT_EQ(resolve(true), cli::exit_store);
  EXPECT_THAT(err_, HasSubstr("it is not known whether the key was completed"));
  EXPECT_EQ(out_, "");
}

TEST_F(resolve_record_test, what_stays_in_doubt_is_reported_as_such) {
  leave_unknown();
  faulty_.fail(store_call::resolve, store_fault::before_timeout);
  EXPECT_EQ(resolve(false), cli::exit_store);
  EXPECT_THAT(err_, HasSubstr("it is not known whether the key was released"));
  EXPECT_THAT(err_, Not(HasSubstr("nothing was changed")));
  EXPECT_EQ(out_, "");
}

TEST_F(resolve_record_test, what_was_certainly_not_carried_out_is_reported_at_once) {
  leave_unknown();
  faulty_.fail(store_call::resolve, store_fault::before);
  EXPECT_EQ(resolve(false), cli::exit_store);
  EXPECT_THAT(err_, HasSubstr("nothing was changed"));
  EXPECT_EQ(faulty_.made(store_call::find), 0u);
}

}  // namespace
}  // namespace onceguard::testing
