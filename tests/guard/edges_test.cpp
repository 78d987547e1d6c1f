// A guard where a program uses it in unusual ways: before main, in a child, with what is gone.
#include <future>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <onceguard/guard.hpp>
#include <onceguard/testing.hpp>

#include "support/waiting.hpp"

namespace onceguard {
namespace {

using namespace std::chrono_literals;

// Its store's component is known before the statics of the program are made.
const bool opened_before_main =
    guard::open("sqlite::memory:").has_value() ||
    guard::open("sqlite:/nowhere/a.db").error().code != errc::invalid_argument;

TEST(guard_edges, a_guard_may_be_a_static_of_the_program) { EXPECT_TRUE(opened_before_main); }

int exit_code_of(pid_t child) {
  int status = 0;
  testing::wait_until("the end of the child",
                      [&] { return ::waitpid(child, &status, WNOHANG) == child; });
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(guard_edges, a_child_is_refused_and_ends_without_its_parents_threads) {
  testing::store_in_hand records;
  std::optional<guard> own(guard::open(records.open()).value());
  const request charge{"tenant-1", "key-1"};
  const auto work = [] { return std::string("done"); };
  const auto child = ::fork();
  if (child == 0) {
    const auto got = own->execute(charge, work);
    own.reset();
    ::_exit(!got && got.error().kind == refusal_kind::store_failed ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(own->execute(charge, work)->value, "done");
}

template <class Policy>
concept may_be_awaited_with = requires(guard& over, request sent, Policy policy,
                                       boost::asio::awaitable<std::string> (*work)()) {
  over.async_execute(sent, static_cast<Policy>(policy), work);
  over.async_claim(sent, static_cast<Policy>(policy));
};
static_assert(may_be_awaited_with<const route_policy&>);
static_assert(!may_be_awaited_with<route_policy&&>, "it is gone before the work is");

TEST(guard_edges, a_policy_of_start_may_be_a_temporary_one) {
  testing::store_in_hand records;
  auto own = guard::open(records.open()).value();
  std::promise<job<std::string>> begun;
  std::promise<execution<std::string>> ended;
  const auto brief = [] {
    route_policy out;
    out.retention = 2h;
    return out;
  };
  own.start<std::string>(
      {"tenant-1", "key-1"}, brief(),
      [&](job<std::string> work) { begun.set_value(std::move(work)); },
      [&](execution<std::string> made) { ended.set_value(std::move(made)); });
  begun.get_future().get().finish("done");
  EXPECT_EQ(ended.get_future().get()->value, "done");
  records.advance(2h);
  auto other = guard::open(records.open()).value();
  EXPECT_FALSE(other.execute({"tenant-1", "key-1"}, [] { return std::string("anew"); })->replayed);
}

TEST(guard_edges, a_lease_that_is_settled_twice_throws) {
  auto guard = guard::open("memory:").value();
  auto held = guard.claim({"tenant-1", "key-1", "EUR 20"}, guard.policy());
  ASSERT_TRUE(held.lease);
  auto lease = std::move(*held.lease);
  static_cast<void>(guard.settle(std::move(lease), {}));
  // NOLINTNEXTLINE(bugprone-use-after-move): the misuse is what is tested
  EXPECT_THROW(static_cast<void>(guard.settle(std::move(lease), {})), std::logic_error);
}

}  // namespace
}  // namespace onceguard
