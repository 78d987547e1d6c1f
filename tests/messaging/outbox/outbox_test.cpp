// A message leaves with its transaction, and only then.
#include <algorithm>

#include <gtest/gtest.h>

#include <onceguard/inbox_postgres.hpp>
#include <onceguard/outbox_postgres.hpp>

#include "execute/execute_shop.hpp"
#include "messaging/postgres_queue/queue_table.hpp"

namespace onceguard::testing {
namespace {

using messaging::message;

class outbox_table : public ::testing::Test {
 protected:
  outbox_table() {
    till_.run("DROP TABLE IF EXISTS events, plain, charges; CREATE TABLE charges (who text)");
    const auto made = messaging::postgres_queue::create_outbox(url());
    if (!made) throw std::runtime_error(made.error().detail);
  }

  [[nodiscard]] std::string url() const { return database_.url() + "?outbox=events"; }
  [[nodiscard]] std::string count() { return till_.run("SELECT count(*) FROM events"); }
  /// The next delivery, as the relay gets it.
  [[nodiscard]] std::vector<messaging::delivery> receive() const {
    messaging::broker_params params;
    params.url = url();
    return messaging::open_consumer(params).value()->receive(10, milliseconds(0)).value();
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
  libpq_till till_{database_.url()};
  postgres::outbox outbox_{till_.on(), "events"};
};

TEST_F(outbox_table, a_message_arrives_whole_and_with_an_id) {
  message sent{.payload = std::string("\0\xff{}", 4),
               .headers = {{"trace", "abc"}, {"trace", std::string("\0\"\\", 3)}},
               .properties = {{"content_type", "application/json"}},
               .order_key = "customer 1"};
  till_.run("BEGIN");
  const auto id = outbox_.publish(sent).value();
  EXPECT_EQ(id.size(), 36u) << id;
  EXPECT_NE(outbox_.publish(sent).value(), id);
  EXPECT_TRUE(receive().empty()) << "before the commit";
  till_.run("COMMIT");
  const auto got = receive();
  ASSERT_EQ(got.size(), 1u) << "the second one of the key waits for the first";
  const auto& received = got.front().received;
  EXPECT_EQ(received.payload, sent.payload);
  EXPECT_EQ(received.headers, sent.headers);
  EXPECT_EQ(received.order_key, sent.order_key);
  EXPECT_EQ(*property_of(received, "message_id"), id);
  EXPECT_EQ(*property_of(received, "content_type"), "application/json");
}

TEST_F(outbox_table, an_id_of_the_senders_is_kept) {
  till_.run("BEGIN");
  EXPECT_EQ(outbox_.publish({.payload = "p", .properties = {{"message_id", "m1"}}}).value(), "m1");
  till_.run("COMMIT");
  const auto got = receive();
  const auto& properties = got.at(0).received.properties;
  EXPECT_EQ(*property_of(got[0].received, "message_id"), "m1");
  EXPECT_EQ(std::count_if(properties.begin(), properties.end(),
                          [](const auto& one) { return one.first == "message_id"; }),
            1);
}

TEST_F(outbox_table, an_id_that_no_inbox_takes_is_refused_and_the_transaction_goes_on) {
  till_.run("BEGIN");
  for (const auto& id : {std::string(), std::string(256, 'x')}) {
    const auto refused = outbox_.publish({.payload = "p", .properties = {{"message_id", id}}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
  EXPECT_TRUE(
      outbox_.publish({.payload = "p", .properties = {{"message_id", std::string(255, 'x')}}}));
  till_.run("COMMIT");
  EXPECT_EQ(count(), "1");
}

TEST_F(outbox_table, nothing_leaves_outside_of_a_transaction) {
  const auto refused = outbox_.publish({.payload = "p"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::conflict);
  EXPECT_EQ(count(), "0");
}

TEST_F(outbox_table, what_is_rolled_back_never_leaves) {
  till_.run("BEGIN");
  ASSERT_TRUE(outbox_.publish({.payload = "p"}));
  till_.run("ROLLBACK");
  EXPECT_EQ(count(), "0");
}

TEST_F(outbox_table, a_table_that_is_missing_fails_the_transaction) {
  till_.run("BEGIN");
  const auto refused = postgres::outbox(till_.on(), "no \"such").publish({.payload = "p"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_NE(refused.error().detail.find("no \"such"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(PQtransactionStatus(till_.on()), PQTRANS_INERROR);
  till_.run("ROLLBACK");
  EXPECT_THROW(postgres::outbox(till_.on(), ""), std::invalid_argument);
  EXPECT_THROW(postgres::outbox(till_.on(), "schema."), std::invalid_argument);
}

TEST_F(outbox_table, a_message_that_a_trigger_keeps_out_was_not_published) {
  till_.run(
      "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RETURN NULL; END $$;"
      "CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()");
  till_.run("BEGIN");
  const auto refused = outbox_.publish({.payload = "p"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().detail.find("took no row"), std::string::npos);
  till_.run("ROLLBACK");
}

TEST_F(outbox_table, the_work_of_execute_publishes_once) {
  const request wanted("shop", "k");
  for (int i = 0; i < 2; ++i) {
    const auto done = postgres::execute(till_.on(), wanted, [&](const lease&) {
      till_.charge("ada");
      EXPECT_TRUE(outbox_.publish({.payload = "charged"}));
      return answer{201, {}, {}};
    });
    ASSERT_TRUE(done) << done.error().detail;
  }
  EXPECT_EQ(count(), "1");
}

TEST_F(outbox_table, a_handler_of_an_inbox_that_fails_sends_nothing) {
  postgres::inbox inbox(till_.on(), "billing");
  const std::vector<inbox_message> batch{{"m1", "good"}, {"m2", "bad"}};
  const auto handler = [&](const inbox_message& received, const lease&) {
    EXPECT_TRUE(outbox_.publish({.payload = std::string(received.payload)}));
    if (received.payload == "bad") throw std::runtime_error("no");
  };
  ASSERT_TRUE(inbox.process(batch, handler));
  ASSERT_TRUE(inbox.process(batch, handler));
  EXPECT_EQ(till_.run("SELECT string_agg(convert_from(payload, 'UTF8'), ',') FROM events"), "good");
}

TEST_F(outbox_table, any_client_publishes_by_sql) {
  till_.run("INSERT INTO events (payload) VALUES ('p')");
  const auto got = receive();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(property_of(got.front().received, "message_id")->size(), 36u);
}

TEST_F(outbox_table, a_queue_becomes_an_outbox_and_making_it_again_changes_nothing) {
  ASSERT_TRUE(messaging::postgres_queue::create_queue(database_.url() + "?queue=plain"));
  till_.run("INSERT INTO plain (message_id, payload) VALUES ('m1', 'p')");
  for (int i = 0; i < 2; ++i) {
    const auto made = messaging::postgres_queue::create_outbox(database_.url() + "?outbox=plain");
    ASSERT_TRUE(made) << made.error().detail;
  }
  EXPECT_EQ(till_.run("SELECT message_id FROM plain"), "m1");
}

TEST_F(outbox_table, nobody_publishes_to_it_as_to_a_broker) {
  messaging::broker_params params;
  params.url = url();
  const auto refused = messaging::open_publisher(params);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  EXPECT_FALSE(messaging::postgres_queue::create_outbox(database_.url() + "?queue=events"));
}

}  // namespace
}  // namespace onceguard::testing
