// One row of a queue with a value that nobody expects: the others are delivered all the same.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/log.hpp"
#include "messaging/contract/postgres_queue_fixture.hpp"
#include "messaging/postgres_queue/queue_connection.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;
using messaging::message;
using messaging::postgres_queue::create_queue;
using texts = std::multiset<std::string>;

/// What the log says of rows.
class row_lines final : public base::log_sink {
 public:
  struct line {
    base::event id{};
    std::int64_t row = 0;
    std::int64_t count = 0;
  };
  row_lines() { base::set_log_sink(this); }
  ~row_lines() override { base::set_log_sink(nullptr); }
  void write(const base::event_info& event, base::log_level /*level*/,
             std::span<const base::log_field> fields) override {
    line next;
    next.id = event.id;
    for (const auto& [name, value] : fields) {
      const auto* const number = std::get_if<std::int64_t>(&value);
      if (number == nullptr) continue;
      (name == "rows" ? next.count : next.row) = *number;
    }
    all.push_back(next);
  }
  std::vector<line> all;
};

class postgres_queue_rows : public postgres_queue {
 protected:
  static void run(const std::string& statement) { sql_session(server().url()).run(statement); }
  static std::string value(const std::string& statement) {
    return sql_session(server().url()).value(statement);
  }
  /// A row with a value of its own in one column, and a good one behind it. Returns its id.
  [[nodiscard]] std::int64_t insert_with(const std::string& column, const std::string& odd,
                                         const std::string& key = "NULL") const {
    run("INSERT INTO " + table() + " (payload, order_key, " + column + ") VALUES ('odd', " + key +
        ", " + odd + ")");
    publish({text("good")});
    return std::stoll(value("SELECT max(id) FROM " + table() + " WHERE payload = 'odd'"));
  }
  /// The payloads of all that is delivered, acknowledged.
  static texts take_all(messaging::consumer& receiver, std::size_t count) {
    texts out;
    while (out.size() < count) {
      const auto got = take_one(receiver);
      EXPECT_GE(got.count, 1u);
      EXPECT_LE(got.count, 2'147'483'647u);
      out.insert(got.received.payload);
      done(receiver.acknowledge(got.tag));
    }
    expect_none(receiver);
    return out;
  }
  row_lines log_;
};

TEST_F(postgres_queue_rows, any_number_of_deliveries_is_delivered) {
  const auto receiver = connect();
  for (const auto* count : {"2147483647", "2147483646", "-2147483648", "-1"}) {
    static_cast<void>(insert_with("deliveries", count));
    EXPECT_EQ(take_all(*receiver, 2), (texts{"good", "odd"})) << count;
  }
}

TEST_F(postgres_queue_rows, a_row_that_is_never_visible_stops_nobody_and_is_named) {
  const auto row = insert_with("visible_at", "'infinity'", "'k'");
  const auto receiver = connect("&order=skip");
  EXPECT_EQ(take_all(*receiver, 1), texts{"good"});
  publish({text("later", "k")});
  EXPECT_EQ(take_all(*receiver, 1), texts{"later"});
  for (int i = 0; i < 2; ++i) static_cast<void>(checked(receiver->backlog()));
  ASSERT_EQ(log_.all.size(), 1u) << "one line, until something changes";
  EXPECT_EQ(log_.all[0].id, base::event::queue_rows_parked);
  EXPECT_EQ(log_.all[0].row, row);
  EXPECT_EQ(log_.all[0].count, 1);
}

TEST_F(postgres_queue_rows, times_at_the_ends_of_time_are_times) {
  const auto receiver = connect();
  for (const auto* time : {"'-infinity'", "'4714-11-24 00:00:00+00 BC'"}) {
    static_cast<void>(insert_with("visible_at", time));
    EXPECT_EQ(take_all(*receiver, 2), (texts{"good", "odd"})) << time;
  }
  static_cast<void>(insert_with("visible_at", "'294276-12-31 23:59:59+00'"));
  EXPECT_EQ(take_all(*receiver, 1), texts{"good"});
  for (const auto* column : {"published_at", "dead_since"}) {
    for (const auto* time : {"'infinity'", "'-infinity'"}) {
      static_cast<void>(insert_with(column, time));
      const bool dead = std::string(column) == "dead_since";
      EXPECT_EQ(take_all(*receiver, dead ? 1 : 2), dead ? texts{"good"} : (texts{"good", "odd"}));
    }
  }
  EXPECT_EQ(take_all(*connect("&dead=yes"), 2), (texts{"odd", "odd"}));
}

TEST_F(postgres_queue_rows, a_dead_row_that_is_never_visible_stops_no_consumer_of_dead_ones) {
  static_cast<void>(insert_with("dead_since, visible_at", "now(), 'infinity'"));
  run("UPDATE " + table() + " SET dead_since = now() WHERE payload = 'good'");
  EXPECT_EQ(take_all(*connect("&dead=yes"), 1), texts{"good"});
}

TEST_F(postgres_queue_rows, one_that_was_put_back_by_hand_while_it_was_held_blocks_no_key) {
  publish({text("1", "k"), text("2", "k")});
  {
    const auto gone = connect("&hold=1h");
    EXPECT_EQ(take_one(*gone).received.payload, "1");
  }
  run("UPDATE " + table() + " SET visible_at = NULL");
  const auto receiver = connect();
  EXPECT_EQ(take_all(*receiver, 2), (texts{"1", "2"}));
}

TEST_F(postgres_queue_rows, what_a_table_without_its_constraints_has_is_delivered) {
  run("ALTER TABLE " + table() +
      " ALTER COLUMN payload DROP NOT NULL, ALTER COLUMN deliveries DROP NOT NULL,"
      " ALTER COLUMN published_at DROP NOT NULL");
  run("INSERT INTO " + table() +
      " (payload, deliveries, published_at, headers) VALUES (NULL, NULL, NULL,"
      " ARRAY[NULL, 'x', 'alone']::bytea[])");
  publish({text("good")});
  EXPECT_EQ(take_all(*connect(), 2), (texts{"", "good"}));
}

TEST_F(postgres_queue_rows, large_payloads_arrive) {
  std::vector<message> all;
  for (std::size_t i = 0; i < 16; ++i) all.push_back(text(std::string(2'000'000 + i, 'x')));
  publish(all);
  EXPECT_EQ(take_all(*connect(), all.size()).size(), all.size());
}

/// A database with an encoding in which a row may have what has no form in UTF-8.
class postgres_queue_unreadable : public postgres_queue_rows {
 protected:
  postgres_queue_unreadable() {
    if (value("SELECT count(*) FROM pg_database WHERE datname = 'western'") == "0") {
      run("CREATE DATABASE western ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE "
          "template0");
    }
    done(create_queue(address()));
    for (const auto* row : {"chr(129), 'odd'", "'2', 'good'", "'3', 'good'"}) {
      western("INSERT INTO " + table() + " (message_id, payload) VALUES (" + row + ")");
    }
  }
  [[nodiscard]] std::string address(const std::string& more = {}) const {
    return server().url("western") + "?queue=" + table() + more;
  }
  static void western(const std::string& statement) {
    sql_session(server().url("western")).run(statement);
  }
  [[nodiscard]] std::string state() const {
    return sql_session(server().url("western"))
        .value(
            "SELECT (dead_since IS NOT NULL) || ' ' || coalesce(visible_at::text, 'none') FROM " +
            table() + " WHERE payload = 'odd'");
  }
};

TEST_F(postgres_queue_unreadable, a_row_is_set_aside_and_named) {
  const auto receiver = checked(messaging::open_consumer(params(address())));
  EXPECT_EQ(take_all(*receiver, 2), (texts{"good", "good"}));
  ASSERT_EQ(log_.all.size(), 1u);
  EXPECT_EQ(log_.all[0].id, base::event::queue_row_unreadable);
  EXPECT_EQ(log_.all[0].row, 1);
  EXPECT_EQ(state(), "true none");
}

TEST_F(postgres_queue_unreadable, a_dead_row_too) {
  western("UPDATE " + table() + " SET dead_since = now()");
  const auto receiver = checked(messaging::open_consumer(params(address("&dead=yes"))));
  EXPECT_EQ(take_all(*receiver, 2), (texts{"good", "good"}));
  ASSERT_EQ(log_.all.size(), 1u);
  EXPECT_EQ(log_.all[0].row, 1);
  EXPECT_EQ(state(), "true infinity");
}

TEST_F(postgres_queue_rows, a_statement_that_took_its_transaction_along_is_not_sent_again) {
  using messaging::postgres_queue::connection;
  const auto parsed = messaging::postgres_queue::parse_queue_url(url()).value();
  const auto server = checked(connection::open(parsed, long_wait, "a test"));
  for (const std::string code : {"40001", "40P01"}) {
    checked(server->run("BEGIN"));
    const auto refused =
        server->run("DO $$ BEGIN RAISE 'lost' USING ERRCODE = '" + code + "'; END $$");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().detail.find('[' + code + ']'), std::string::npos)
        << refused.error().detail;
    checked(server->run("ROLLBACK"));
  }
  // On its own it is.
  checked(server->run("CREATE SEQUENCE IF NOT EXISTS tries"));
  checked(
      server->run("DO $$ BEGIN IF nextval('tries') < 3 THEN RAISE 'lost' USING ERRCODE = "
                  "'40001'; END IF; END $$"));
}

}  // namespace
}  // namespace onceguard::testing
