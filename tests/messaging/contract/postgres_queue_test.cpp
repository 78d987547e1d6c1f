// What only a queue in PostgreSQL does.
#include <chrono>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "messaging/contract/postgres_queue_fixture.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;
using messaging::message;
using messaging::postgres_queue::create_queue;

TEST_F(postgres_queue, what_is_rolled_back_never_arrives) {
  const auto receiver = connect();
  sql_session program(server().url());
  const auto insert = "INSERT INTO " + table() + " (message_id, payload) VALUES ";
  program.run("BEGIN; " + insert + "('1', 'x'); ROLLBACK");
  expect_none(*receiver);
  program.run("BEGIN; " + insert + "('2', 'y')");
  expect_none(*receiver);  // nor before the commit
  program.run("COMMIT");
  EXPECT_EQ(take_one(*receiver).received.payload, "y");
}

TEST_F(postgres_queue, a_commit_of_a_program_wakes_a_consumer_that_waits) {
  const auto receiver = connect();
  sql_session program(server().url());
  sql_session activity(server().url());
  const auto wakes_at_once = [&] {
    std::jthread commit([&] {
      const auto idle =
          "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'onceguard'"
          " AND state = 'idle' AND query LIKE '%cleared%' AND query LIKE '%" +
          table() + "%'";
      wait_until("the consumer to wait", [&] { return activity.value(idle) == "1"; });
      program.run("BEGIN; INSERT INTO " + table() +
                  " (order_key, payload) VALUES ('k', 'x'); COMMIT");
    });
    const auto begin = base::boot_now();
    const auto got = take_one(*receiver);
    const auto took = base::boot_now() - begin;
    EXPECT_EQ(got.received.order_key, "k");
    EXPECT_EQ(messaging::property_of(got.received, "message_id"), nullptr);
    done(receiver->acknowledge(got.tag));
    return took < 4s;  // it does not look again by itself before 5 s
  };
  // A busy machine is late at some times.
  EXPECT_TRUE(wakes_at_once() || wakes_at_once() || wakes_at_once());
}

TEST_F(postgres_queue, the_statement_for_programs_publishes) {
  const auto statement = checked(messaging::postgres_queue::publish_statement(url()));
  sql_session program(server().url());
  program.run("PREPARE publish (text, text, bytea) AS " + statement);
  program.run("EXECUTE publish ('17', NULL, 'x')");
  const auto receiver = connect();
  const auto got = take_one(*receiver);
  EXPECT_EQ(*messaging::property_of(got.received, "message_id"), "17");
  EXPECT_EQ(got.received.order_key, "");
}

TEST_F(postgres_queue, who_held_for_too_long_can_not_settle) {
  publish({text("x"), text("y"), text("z")});
  const auto slow = connect("&hold=2s");
  const auto late = checked(slow->receive(3, long_wait));  // at once: none is taken twice
  ASSERT_EQ(late.size(), 3u);
  const auto other = connect("&hold=30s");
  std::vector<delivery> again;
  for (int i = 0; i < 3; ++i) again.push_back(take_one(*other));
  for (const auto& one : again) EXPECT_EQ(one.count, 2u);
  // A tag of its own for each: what is refused once is not asked for again.
  EXPECT_EQ(slow->acknowledge(late[0].tag).error().code, errc::not_found);
  EXPECT_EQ(slow->extend(late[1].tag).error().code, errc::not_found);
  EXPECT_EQ(slow->give_back(late[2].tag, 0ms).error().code, errc::not_found);
  for (const auto& one : again) done(other->acknowledge(one.tag));
  expect_none(*other);
}

TEST_F(postgres_queue, what_a_stopped_consumer_holds_goes_to_one_that_waits) {
  const auto other = connect("&hold=1s");
  expect_none(*other);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      const auto receiver = connect("&hold=1s");
      publish({text("x", "k")});
      static_cast<void>(take_one(*receiver));
      ::raise(SIGSTOP);
    } catch (...) {
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto begin = base::boot_now();
  EXPECT_EQ(take_one(*other).count, 2u);
  EXPECT_LT(base::boot_now() - begin, 5s);
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

TEST_F(postgres_queue, what_is_given_back_wakes_another) {
  const auto giver = connect("&hold=1h");
  const auto other = connect("&hold=1h");
  const auto wakes_at_once = [&] {
    publish({text("x")});
    const auto got = take_one(*giver);
    std::jthread later([&] {
      expect_none(*giver);  // holds it for a while
      done(giver->give_back(got.tag, 300ms));
    });
    const auto begin = base::boot_now();
    const auto again = take_one(*other);
    const auto took = base::boot_now() - begin;
    EXPECT_EQ(again.count, 2u);
    done(other->acknowledge(again.tag));
    return took < 4s;
  };
  // A busy machine is late at some times.
  EXPECT_TRUE(wakes_at_once() || wakes_at_once() || wakes_at_once());
}

TEST_F(postgres_queue, a_table_that_is_missing_is_not_found) {
  for (const std::string name : {"absent", "absent.absent", "public.absent"}) {
    const auto where = params(server().url() + "?queue=" + name);
    EXPECT_EQ(messaging::open_consumer(where).error().code, errc::not_found) << name;
    EXPECT_EQ(messaging::open_publisher(where).error().code, errc::not_found) << name;
  }
  EXPECT_EQ(create_queue(server().url() + "?queue=absent.absent").error().code, errc::not_found);
  // And one that goes away.
  const auto receiver = connect();
  const auto publisher = sender();
  sql_session(server().url()).run("DROP TABLE " + table());
  EXPECT_EQ(receiver->receive(1, short_wait).error().code, errc::not_found);
  EXPECT_EQ(publisher->publish(std::vector<message>{text("x")}).error().code, errc::not_found);
}

TEST_F(postgres_queue, a_table_that_is_missing_is_made_where_that_is_asked_for_and_allowed) {
  auto where = params(server().url() + "?queue=made_here");
  const auto unasked = messaging::open_consumer(where).error();
  EXPECT_NE(unasked.detail.find("onceguard migrate --store URL --queue TABLE"), std::string::npos)
      << unasked.detail;
  where.make_queue = true;
  const auto receiver = checked(messaging::open_consumer(where));
  done(checked(messaging::open_publisher(where))->publish(std::vector<message>{text("x")}));
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
  sql_session(server().url()).run("CREATE ROLE reader LOGIN");
  where.url = server().url("postgres", "reader") + "?queue=not_made";
  const auto refused = messaging::open_consumer(where).error();
  EXPECT_EQ(refused.code, errc::not_found);
  for (const auto* words : {"can't be made", "permission denied", "migrate --store URL --queue"}) {
    EXPECT_NE(refused.detail.find(words), std::string::npos) << words << ": " << refused.detail;
  }
  // An outbox belongs to the program that fills it, dead letters to the queue.
  for (const auto* other : {"?outbox=nothing", "?queue=nothing&dead=yes"}) {
    where.url = server().url() + other;
    EXPECT_EQ(messaging::open_consumer(where).error().code, errc::not_found) << other;
  }
}

TEST_F(postgres_queue, another_table_is_refused) {
  sql_session(server().url()).run("CREATE TABLE IF NOT EXISTS orders (id int)");
  const auto where = server().url() + "?queue=orders";
  EXPECT_EQ(messaging::open_consumer(params(where)).error().code, errc::conflict);
  EXPECT_EQ(messaging::open_publisher(params(where)).error().code, errc::conflict);
  EXPECT_EQ(create_queue(where).error().code, errc::conflict);
}

TEST_F(postgres_queue, a_queue_is_made_by_many_at_once) {
  const auto where = server().url() + "?queue=many";
  std::vector<std::jthread> makers;
  std::atomic<int> made = 0;
  for (int i = 0; i < 8; ++i) {
    makers.emplace_back([&] { made += create_queue(where).has_value() ? 1 : 0; });
  }
  makers.clear();
  EXPECT_EQ(made, 8);
  EXPECT_TRUE(create_queue(where).has_value());
  sql_session database(server().url());
  EXPECT_EQ(database.value("SELECT count(*) FROM pg_index WHERE indrelid = 'many'::regclass"), "6");
}

TEST_F(postgres_queue, who_may_create_nothing_uses_a_queue_that_is_there) {
  sql_session(server().url())
      .run("CREATE ROLE clerk LOGIN; GRANT INSERT ON " + table() + " TO clerk");
  const auto where = server().url("postgres", "clerk") + "?queue=" + table();
  EXPECT_TRUE(create_queue(where).has_value());
  const auto publisher = checked(messaging::open_publisher(params(where)));
  done(publisher->publish(std::vector<message>{text("x")}));
  const auto receiver = checked(messaging::open_consumer(params(where)));
  EXPECT_EQ(receiver->receive(1, short_wait).error().code, errc::conflict);
  EXPECT_EQ(create_queue(server().url("postgres", "clerk") + "?queue=new").error().code,
            errc::conflict);
}

TEST_F(postgres_queue, names_are_taken_as_they_are) {
  sql_session database(server().url());
  database.run(R"(CREATE SCHEMA IF NOT EXISTS "My.Schema")");
  for (const std::string name : {"my%20%22queue%22", "My%2ESchema.my%20%22queue%22", "it's\\me"}) {
    const auto where = params(server().url() + "?queue=" + name);
    ASSERT_TRUE(create_queue(where.url).has_value()) << create_queue(where.url).error().detail;
    const auto publisher = checked(messaging::open_publisher(where));
    done(publisher->publish(std::vector<message>{text("x", "k"), text("y", "k")}));
    const auto receiver = checked(messaging::open_consumer(where));
    done(receiver->acknowledge(take_one(*receiver).tag));
    const auto second = take_one(*receiver);
    EXPECT_EQ(second.received.payload, "y");
    done(receiver->give_back(second.tag, 0ms));
    done(receiver->dead_letter(take_one(*receiver).tag));
    EXPECT_EQ(checked(receiver->backlog()), 0u);
  }
  EXPECT_EQ(database.value(R"(SELECT count(*) FROM "my ""queue""")"), "1");
  EXPECT_EQ(database.value(R"(SELECT count(*) FROM "My.Schema"."my ""queue""")"), "1");
}

TEST_F(postgres_queue, dead_letters_are_kept_until_somebody_takes_them) {
  publish({text("x", "k"), text("y", "k")});
  const auto receiver = connect();
  done(receiver->dead_letter(take_one(*receiver).tag));
  EXPECT_EQ(take_one(*receiver).received.payload, "y");  // the next of its key goes on
  sql_session database(server().url());
  const auto kept = "SELECT count(*) FROM " + table() + " WHERE dead_since IS NOT NULL";
  EXPECT_EQ(database.value(kept), "1");
  const auto dead = connect("&dead=yes");
  EXPECT_FALSE(dead->traits().dead_letters);
  const auto got = take_one(*dead);
  EXPECT_EQ(dead->dead_letter(got.tag).error().code, errc::invalid_argument);
  done(dead->give_back(got.tag, 0ms));
  const auto again = take_one(*dead);
  EXPECT_EQ(again.received.payload, "x");
  EXPECT_EQ(checked(dead->backlog()), 0u);
  done(dead->acknowledge(again.tag));
  EXPECT_EQ(database.value(kept), "0");
}

TEST_F(postgres_queue, a_dead_letter_that_is_revived_is_delivered) {
  publish({text("x", "k")});
  const auto receiver = connect();
  done(receiver->dead_letter(take_one(*receiver).tag));
  sql_session(server().url()).run("UPDATE " + table() + " SET dead_since = NULL");
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
}

TEST_F(postgres_queue, a_batch_is_published_as_a_whole_or_not_at_all) {
  auto broken = text("y");
  broken.properties.emplace_back("message_id", "\xff");
  const auto sent = sender()->publish(std::vector<message>{text("x"), broken});
  EXPECT_EQ(sent.error().code, errc::conflict);
  EXPECT_EQ(sent.error().effect, effect::none);
  auto strange = text("z");
  strange.properties.emplace_back("content_type", "text/plain");
  EXPECT_EQ(sender()->publish(std::vector<message>{strange}).error().code, errc::conflict);
  expect_none(*connect());
}

TEST_F(postgres_queue, headers_are_bytes) {
  auto sent = text("x");
  sent.headers = {{"a", std::string("\0\xff\\\"{},", 7)}, {"", ""}, {"a", "2"}};
  publish({sent});
  sql_session(server().url())
      .run("INSERT INTO " + table() +
           " (payload, headers) VALUES ('y', ARRAY['trace', 'abc']::bytea[])");
  const auto receiver = connect();
  EXPECT_EQ(take_one(*receiver).received.headers, sent.headers);
  const auto other = take_one(*receiver);
  EXPECT_EQ(*messaging::header_of(other.received, "trace"), "abc");
}

TEST_F(postgres_queue, a_session_that_the_server_ends_is_noticed_while_waiting) {
  const auto receiver = connect();
  const auto full = connect("", 1);
  publish({text("x")});
  static_cast<void>(take_one(*full));
  sql_session database(server().url());
  for (auto* waiting : {receiver.get(), full.get()}) {
    std::jthread later([&] {
      database.run(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
          " WHERE application_name = 'onceguard' AND pid <> pg_backend_pid()");
    });
    const auto begin = base::boot_now();
    EXPECT_EQ(waiting->receive(1, long_wait).error().code, errc::broker_unreachable);
    EXPECT_LT(base::boot_now() - begin, 10s);
  }
}

TEST_F(postgres_queue, failures_tell_no_secrets) {
  auto where = params(url());
  where.url.replace(where.url.find("postgres@"), 9, "mister:s3cret@");
  const auto refused = messaging::open_consumer(where).error();
  EXPECT_EQ(refused.code, errc::broker_unreachable);
  EXPECT_EQ(refused.detail.find("mister"), std::string::npos) << refused.detail;
  EXPECT_EQ(refused.detail.find("s3cret"), std::string::npos) << refused.detail;
  EXPECT_NE(refused.detail.find(table()), std::string::npos) << refused.detail;
  where.url = "postgresql://nowhere.invalid/postgres?queue=x";
  EXPECT_EQ(messaging::open_consumer(where).error().code, errc::broker_unreachable);
  where.url = server().url("absent") + "?queue=x";
  EXPECT_EQ(messaging::open_consumer(where).error().code, errc::broker_unreachable);
}

TEST_F(postgres_queue, a_server_that_hangs_holds_up_nobody) {
  const auto receiver = connect();
  publish({text("x")});
  auto brief = params(url());
  brief.timeout = 500ms;
  std::unique_ptr<messaging::consumer> impatient;
  wait_until("a server that answers within the timeout", [&] {
    impatient = checked(messaging::open_consumer(brief));
    return true;
  });
  const auto got = take_one(*receiver);
  server().pause();
  const auto begin = base::boot_now();
  const auto received = impatient->receive(1, short_wait);
  const auto opened = messaging::open_consumer(brief);
  const auto took = base::boot_now() - begin;
  server().go_on();
  EXPECT_EQ(received.error().code, errc::broker_unreachable);
  EXPECT_EQ(opened.error().code, errc::broker_unreachable);
  EXPECT_LT(took, 10s);
  done(receiver->acknowledge(got.tag));
}

}  // namespace
}  // namespace onceguard::testing
