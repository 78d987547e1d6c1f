// What a Redis store knows of its server's memory: a loss is noticed by every process, before that
// process is granted anything.
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "support/redis_fleet.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

class redis_memory_test : public redis_fixture {
 protected:
  /// The first reply that the server gives, by whatever connection.
  static result<verdict> first_reply(blocking_store& caller, const claim& request) {
    for (;;) {
      auto reply = caller.try_claim(request);
      if (reply || reply.error().code != errc::store_unreachable) return reply;
    }
  }
  static void expect_lost(blocking_store& caller, const std::string& key) {
    const auto reply = first_reply(caller, claim_of(key));
    ASSERT_FALSE(reply) << "a lease was granted";
    EXPECT_EQ(reply.error().code, errc::store_lost) << reply.error().detail;
  }
};

TEST_F(redis_memory_test, after_a_restart_without_data_nothing_is_granted_until_polled) {
  redis_server server;
  const auto tested = open(server);
  blocking_store caller(*tested);
  caller.completed(claim_of("k"));
  server.stop(SIGKILL);
  server.start();
  expect_lost(caller, "k");
  caller.vitals();  // reports another identity
  expect_lost(caller, "k");
  caller.vitals();  // shows that the caller has taken note of it
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(redis_memory_test, a_loss_is_noticed_by_who_knew_more_though_others_have_written_since) {
  redis_server server;
  tcp_gate gate(server.port());
  const auto near_store = open(server);
  const auto far_store = open(params_for(redis_server::url_at(gate.port())));
  blocking_store nearby(*near_store), afar(*far_store);
  nearby.completed(claim_of("kept"));
  server.session().run({"SAVE"});
  const auto last = afar.completed(claim_of("lost")).token;
  gate.lead_to(free_port());
  server.stop(SIGKILL);
  server.start();
  // Nearby nothing is missing: it wrote nothing after the data were saved.
  for (int i = 0; i < 20; ++i) {
    expect_one_run(nearby, "since " + std::to_string(i));
  }
  const auto before = nearby.vitals().identity;
  gate.lead_to(server.port());
  const auto reply = first_reply(afar, claim_of("lost"));
  ASSERT_FALSE(reply) << "a lease was granted";
  EXPECT_EQ(reply.error().code, errc::store_lost);
  EXPECT_NE(afar.vitals().identity, before);
  EXPECT_GT(leased_until_known(afar, claim_of("lost")).token, last);
}

TEST_F(redis_memory_test, a_loss_that_one_process_finds_stops_the_grants_of_the_others) {
  redis_server server;
  const auto first = open(server), second = open(server);
  blocking_store finder(*first), other(*second);
  other.completed(claim_of("k"));
  const auto before = finder.vitals().identity;
  evict(server);
  EXPECT_NE(finder.vitals().identity, before);
  expect_lost(other, "k");
}

TEST_F(redis_memory_test, an_answer_that_no_replica_has_is_not_replayed_where_one_must_have_it) {
  redis_server master(patient_replication);
  redis_settings settings = patient_replication;
  settings.insert(settings.end(), {"--replicaof", "127.0.0.1", std::to_string(master.port())});
  const redis_server replica(settings);
  wait_until("a replica", [&] { return is_attached(replica); });
  const auto alone = open(master);
  // Two, as a connection takes nothing else while it waits for the replica.
  const auto confirmed = open(master, "min_replicas=1"), other = open(master, "min_replicas=1");
  blocking_store writer(*alone), reader(*confirmed), settler(*other);
  reader.completed(claim_of("before"));
  settler.completed(claim_of("before that"));
  replica.pause();
  writer.completed(claim_of("k"));
  const auto early = reader.try_claim(claim_of("k"), milliseconds(300));
  // A holder that was superseded gets the stored answer: this is decided on a look alone.
  lease superseded;
  superseded.token = 7;
  const auto settles = settler.settles({settle_of(claim_of("k"), superseded)}, milliseconds(300));
  replica.go_on();
  ASSERT_FALSE(early) << "an answer that a failover would lose";
  EXPECT_EQ(early.error().code, errc::store_unreachable);
  ASSERT_FALSE(settles.at(0)) << "an answer that a failover would lose";
  EXPECT_EQ(settles.at(0).error().code, errc::store_unreachable);
  expect_verdict(reader, claim_of("k"), verdict_kind::replay);
}

}  // namespace
}  // namespace onceguard::testing
