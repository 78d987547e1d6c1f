// The two lines of the audit log around a change of a record.
#include <vector>

#include <gtest/gtest.h>

#include "audit/audited_resolve.hpp"
#include "store/contract/acts.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_store.hpp"
#include "support/run.hpp"

namespace onceguard::testing {
namespace {

/// Keeps its lines, as many as it has room for.
class small_log final : public audit_log {
 public:
  explicit small_log(std::size_t room) : room_(room) {}

  struct line {
    std::string stage, action, wanted, about;
  };
  std::vector<line> lines;

 private:
  result<void> write(const audit_author& /*author*/, const audited_change& change,
                     const std::string& stage) override {
    if (lines.size() == room_) return error(errc::invalid_argument, "the disk is full");
    lines.push_back({stage, std::string(change.action), change.wanted, change.about});
    return {};
  }

  const std::size_t room_;
};

class audited_resolve_test : public ::testing::Test {
 protected:
  audited_end release(small_log& log, bool force = false) {
    resolution change;
    change.id = request_.id;
    change.force = force;
    resolve_times times;
    times.in_doubt_max = milliseconds(50);
    return run(resolve_audited(faulty_, caller_.find(request_.id), change,
                               {log, author_, "release"}, times));
  }
  /// An operation whose outcome is unknown.
  void leave_unknown() {
    caller_.leased(request_);
    clock_.advance(lease_length + request_.about->run_timeout);
  }

  base::manual_clock clock_;
  memory_store inner_{clock_};
  faulty_store faulty_{inner_};
  blocking_store caller_{inner_};
  const claim request_ = claim_of("order-1");
  const audit_author author_{"ada", "keys release", "no payment"};
};

TEST_F(audited_resolve_test, nothing_is_changed_without_the_first_line) {
  leave_unknown();
  small_log full(0);
  const auto end = release(full);
  ASSERT_FALSE(end.resolved);
  EXPECT_EQ(caller_.seen(request_.id).state, observed_state::unknown);
}

TEST_F(audited_resolve_test, a_second_line_that_can_not_be_written_is_said) {
  leave_unknown();
  small_log log(1);
  const auto end = release(log);
  ASSERT_TRUE(end.resolved);
  EXPECT_EQ(end.resolved->outcome, resolve_outcome::done);
  ASSERT_TRUE(end.unwritten);
  EXPECT_EQ(end.unwritten->detail, "the disk is full");
}

TEST_F(audited_resolve_test, force_is_written) {
  leave_unknown();
  small_log log(4);
  static_cast<void>(release(log));
  caller_.leased(claim_of("order-1"));
  static_cast<void>(release(log, true));
  ASSERT_EQ(log.lines.size(), 4u);
  EXPECT_EQ(log.lines[0].about, "");
  for (const auto i : {2u, 3u}) EXPECT_EQ(log.lines[i].about, "by force");
}

TEST_F(audited_resolve_test, what_stays_in_doubt_is_written_as_unknown) {
  leave_unknown();
  small_log log(2);
  faulty_.fail(store_call::resolve, store_fault::before_timeout);
  ASSERT_FALSE(release(log).resolved);
  ASSERT_EQ(log.lines.size(), 2u);
  EXPECT_EQ(log.lines[1].stage, "unknown");
}

}  // namespace
}  // namespace onceguard::testing
