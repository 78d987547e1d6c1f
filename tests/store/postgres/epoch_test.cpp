// The epoch and the accelerator states that a PostgreSQL store keeps for an accelerator in front of
// it.
#include <gmock/gmock.h>

#include "store/postgres/fixture.hpp"

namespace onceguard::testing {
namespace {

class postgres_epoch_test : public postgres_fixture {
 protected:
  epoch_reading read(const std::string& accelerator = "redis-1") {
    return run(context_, store_->read_epoch(accelerator, patience)).value();
  }
  std::string epoch() { return read().epoch; }
  bool note(const accelerator_state& found, const std::string& distrusted = {}) {
    return run(context_, store_->note(found, distrusted, patience)).value();
  }
  void release(const claim& request, bool force = false) {
    resolution change;
    change.id = request.id;
    change.force = force;
    ASSERT_EQ(caller_.resolve(change).outcome, resolve_outcome::done);
  }

  boost::asio::io_context context_;
  store_ptr store_ = open();
  blocking_store caller_{*store_};
};

TEST_F(postgres_epoch_test, an_epoch_ends_only_with_the_release_of_a_completed_record) {
  const auto completed = claim_of("completed"), running = claim_of("running");
  const auto before = epoch();
  caller_.completed(completed);
  caller_.leased(running);
  release(running, true);
  caller_.sweep();
  EXPECT_EQ(epoch(), before);
  const auto forgotten = read().forgotten;
  release(completed);
  EXPECT_NE(epoch(), before);
  EXPECT_EQ(read().forgotten, forgotten + 1);
  EXPECT_EQ(read().forgotten, caller_.vitals().forgotten);
}

TEST_F(postgres_epoch_test, an_epoch_ends_when_no_process_has_read_it_for_some_seconds) {
  const auto begin = postgres_database::beginning;
  database_.set_clock(begin);
  epoch();
  const auto before = epoch();
  for (int seconds = 10; seconds <= 60; seconds += 10) {
    database_.set_clock(begin + seconds * 1'000);
    EXPECT_EQ(epoch(), before) << "it is in use";
  }
  database_.set_clock(begin + 80'000);
  const auto after = epoch();
  EXPECT_NE(after, before);
  EXPECT_EQ(epoch(), after);
}

TEST_F(postgres_epoch_test, a_server_that_was_started_again_and_a_copy_have_other_origins) {
  postgres_server server;
  postgres_database database(server);
  auto here = params();
  here.url = database.url();
  const auto origin_at = [&](const std::string& url) {
    here.url = url;
    const auto opened = open(here);
    return run(context_, opened->read_epoch("redis-1", patience)).value().origin;
  };
  const auto before = origin_at(database.url());
  EXPECT_EQ(origin_at(database.url()), before);
  server.stop();  // as a snapshot is put back
  server.start();
  const auto after = origin_at(database.url());
  EXPECT_NE(after, before);
  sql_session(server.url()).run("ALTER DATABASE onceguard RENAME TO original");
  sql_session(server.url()).run("CREATE DATABASE copied TEMPLATE original");
  EXPECT_EQ(origin_at(server.url("original")), after);
  EXPECT_NE(origin_at(server.url("copied")), after);
}

TEST_F(postgres_epoch_test, an_epoch_ends_in_the_transaction_of_the_release) {
  const auto request = claim_of("k");
  caller_.completed(request);
  const auto before = epoch();
  database_.admin().run(
      "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE 'no' USING ERRCODE = '23514'; END $$;"
      "CREATE TRIGGER refuse AFTER UPDATE ON onceguard.meta"
      " FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  resolution change;
  change.id = request.id;
  EXPECT_FALSE(run(context_, store_->resolve(change, patience)));
  database_.admin().run("DROP TRIGGER refuse ON onceguard.meta; DROP FUNCTION public.refuse()");
  EXPECT_EQ(epoch(), before);
  EXPECT_EQ(caller_.claim(claim_of("k")).kind, verdict_kind::replay)
      << "the answer was released without the end of the epoch";
  release(request);
  EXPECT_NE(epoch(), before);
}

TEST_F(postgres_epoch_test, an_epoch_ends_when_the_records_are_truncated) {
  const auto before = epoch();
  database_.admin().run("TRUNCATE onceguard.records");
  EXPECT_NE(epoch(), before);
}

TEST_F(postgres_epoch_test, a_distrusted_epoch_is_ended_only_once) {
  const auto before = epoch();
  EXPECT_TRUE(note({"redis-1", 5, -3}, before));
  const auto after = epoch();
  EXPECT_NE(after, before);
  EXPECT_FALSE(note({"redis-1", 5, -3}, before));
  EXPECT_EQ(epoch(), after);
}

TEST_F(postgres_epoch_test, the_state_of_each_accelerator_is_stored_separately) {
  const accelerator_state first{"redis-1", 5, -3}, second{"redis-2", 1, 7'000};
  EXPECT_FALSE(read("nobody").noted);
  EXPECT_FALSE(note(first));
  EXPECT_FALSE(note(second));
  EXPECT_EQ(read("redis-1").noted, first);
  EXPECT_EQ(read("redis-2").noted, second);
  EXPECT_FALSE(note({"redis-1", 4, 0}));  // the generation went back
  EXPECT_EQ(read("redis-1").noted->generation, 4u);
}

TEST_F(postgres_epoch_test, an_accelerator_that_was_not_noted_for_a_month_is_removed) {
  note({"redis-old", 5, 0});
  database_.admin().run("UPDATE onceguard.accelerators SET noted_at = noted_at - 2592000001");
  note({"redis-new", 1, 0});
  EXPECT_FALSE(read("redis-old").noted);
  EXPECT_TRUE(read("redis-new").noted);
}

TEST_F(postgres_epoch_test, epoch_functions_are_allowed_for_gateways_and_not_for_applications) {
  const char* const calls[] = {"SELECT * FROM onceguard.accelerator_epoch('redis-1')",
                               "SELECT onceguard.note_accelerator('redis-1', 1, 0, NULL)"};
  sql_session person(database_.url());
  for (const auto* call : calls) {
    person.run("SET ROLE onceguard_gateway");
    EXPECT_NO_THROW(person.run(call));
    person.run("SET ROLE onceguard_app");
    EXPECT_THROW(person.run(call), std::runtime_error);
  }
}

TEST_F(postgres_epoch_test, reading_an_epoch_gives_the_clock_the_identity_and_the_generation) {
  database_.set_clock(postgres_database::beginning + 42);
  const auto reply = read();
  EXPECT_EQ(reply.now, postgres_database::beginning + 42);
  EXPECT_THAT(reply.origin, ::testing::StartsWith(caller_.vitals().identity));
  EXPECT_EQ(reply.generation, caller_.vitals().generation);
  caller_.leased(claim_of("k"));
  EXPECT_EQ(read().generation, reply.generation + 1);
}

}  // namespace
}  // namespace onceguard::testing
