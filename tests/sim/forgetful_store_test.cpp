// A store that forgets: the rest stays as it was, and what comes next is new.
#include "forgetful_store.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

namespace onceguard::sim {
namespace {

class forgetful : public testing::Test {
 protected:
  template <class Result>
  Result wait(boost::asio::awaitable<Result> call) {
    boost::asio::io_context io;
    auto done = boost::asio::co_spawn(io, std::move(call), boost::asio::use_future);
    io.run();
    return done.get();
  }
  verdict claims(unsigned char key, unsigned char number) {
    onceguard::claim request;
    request.id.fill(key);
    request.claim_id.fill(number);
    request.about = std::make_shared<subject>();
    request.lease = milliseconds(60'000);
    request.retention = milliseconds(60'000);
    auto replies = wait(store_.claim({request}, milliseconds(0)));
    return replies[0].value();
  }
  std::optional<record_view> finds(unsigned char key) {
    record_id id;
    id.fill(key);
    return wait(store_.find(id, milliseconds(0))).value();
  }

  forgetful_store store_;
};

TEST_F(forgetful, what_is_older_stays_as_it_was) {
  const auto first = claims(1, 1);
  wait(store_.forget(milliseconds(-1)));
  const auto found = finds(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->stored.token, first.lease.token);
  EXPECT_EQ(claims(1, 2).kind, verdict_kind::busy);
}

TEST_F(forgetful, what_is_newer_is_gone_and_its_token_never_comes_again) {
  const auto first = claims(1, 1);
  const auto identity = wait(store_.vitals(milliseconds(0))).value().identity;
  wait(store_.forget(milliseconds(60'000)));
  EXPECT_FALSE(finds(1));
  EXPECT_NE(wait(store_.vitals(milliseconds(0))).value().identity, identity);
  const auto second = claims(1, 2);
  ASSERT_EQ(second.kind, verdict_kind::run);
  EXPECT_GT(second.lease.token, first.lease.token);
  wait(store_.forget(milliseconds(60'000)));
  EXPECT_GT(claims(1, 3).lease.token, second.lease.token);
}

}  // namespace
}  // namespace onceguard::sim
