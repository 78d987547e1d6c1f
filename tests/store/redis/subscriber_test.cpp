// The Redis store's subscriber, which is notified of settles by other processes.
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/contract/settled_notices.hpp"
#include "store/redis/fixture.hpp"

namespace onceguard::testing {
namespace {

class redis_subscriber_test : public redis_fixture {
 protected:
  void await_listeners(const std::string& count) {
    wait_until(count + " listeners", [&] {
      return admin_.run({"PUBSUB", "NUMSUB", "onceguard:settled"}) == count;
    });
  }

  redis_session admin_ = server_.session();
};

TEST_F(redis_subscriber_test, a_resolution_by_an_operator_is_announced_to_listeners) {
  const auto one = open();
  const auto other = open();
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "first");
  for (const bool completed : {true, false}) {
    const auto request = claim_of(completed ? "did" : "did not");
    caller.leased(request);
    resolution change;
    change.id = request.id;
    change.completed = completed;
    change.force = true;
    caller.resolve(change);
    notices.await(request.id);
  }
  other->on_settled(nullptr);
}

TEST_F(redis_subscriber_test, a_subscriber_connection_exists_only_while_a_listener_is_set) {
  const auto one = open();
  const auto other = open();
  await_listeners("0");
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "first");
  other->on_settled(notices.listener());
  await_listeners("1");
  other->on_settled(nullptr);
  const auto last = notices.size();
  await_listeners("0");
  caller.completed(claim_of("for nobody"));
  EXPECT_EQ(notices.size(), last);
  other->on_settled(notices.listener());
  await_notice(caller, notices, "once more");
  other->stop();
  await_listeners("0");
}

TEST_F(redis_subscriber_test, a_broken_subscriber_connection_is_opened_again) {
  const auto one = open();
  const auto other = open();
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "before");
  admin_.run({"CLIENT", "KILL", "TYPE", "pubsub"});
  await_notice(caller, notices, "after");
  other->on_settled(nullptr);
}

TEST_F(redis_subscriber_test, the_subscriber_reconnects_to_a_restarted_server) {
  redis_server server;
  const auto one = open(server);
  const auto other = open(server);
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "before");
  server.stop(SIGKILL);
  server.start();
  wait_until("the server", [&] { return run(one->vitals(patience)).has_value(); });
  leased_until_known(caller, claim_of("another memory"));
  await_notice(caller, notices, "after");
}

TEST_F(redis_subscriber_test, settles_of_another_prefix_are_not_announced) {
  const auto one = open();
  const auto stranger = open(server_, "prefix=other:");
  const auto other = open();
  settled_notices notices;
  other->on_settled(notices.listener());
  blocking_store caller(*one);
  await_notice(caller, notices, "first");
  blocking_store there(*stranger);
  const auto request = claim_of("elsewhere");
  there.completed(request);
  await_notice(caller, notices, "later");
  EXPECT_FALSE(notices.has(request.id));
}

TEST_F(redis_subscriber_test, a_user_without_publish_and_subscribe_rights_can_claim_and_settle) {
  admin_.run({"ACL", "SETUSER", "mute", "on", ">word", "~onceguard:*", "resetchannels", "+@all",
              "-publish", "-subscribe"});
  const auto value = params_for("redis://mute:word@127.0.0.1:" + std::to_string(server_.port()));
  const auto mute = open(value);
  settled_notices notices;
  mute->on_settled(notices.listener());
  blocking_store caller(*mute);
  const auto request = claim_of("k");
  caller.completed(request);
  EXPECT_EQ(caller.claim(request).kind, verdict_kind::replay);
  resolution change;
  change.id = request.id;
  EXPECT_EQ(caller.resolve(change).outcome, resolve_outcome::done);
  mute->on_settled(nullptr);
  EXPECT_EQ(notices.size(), 0u);
  admin_.run({"ACL", "DELUSER", "mute"});
}

}  // namespace
}  // namespace onceguard::testing
