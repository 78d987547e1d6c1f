// How consumers of a stream of Redis hold deliveries, lose them and take them over.
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "messaging/contract/redis_streams_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

using redis_streams_holds = redis_streams_test;

TEST_F(redis_streams_holds, one_consumer_receives_in_the_order_of_the_stream) {
  std::vector<messaging::message> batch;
  for (int i = 0; i < 300; ++i) batch.push_back(text_message(std::to_string(i)));
  ASSERT_TRUE(publish(batch).has_value());
  const auto receiver = open("&hold=1m", 1'000);
  EXPECT_FALSE(receiver->traits().ordered);  // a second one would work beside it
  const auto got = take_all(*receiver, 300);
  ASSERT_EQ(got.size(), 300u);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(got[i].received.payload, std::to_string(i));
}

TEST_F(redis_streams_holds, an_entry_that_is_deleted_while_it_is_held_can_be_acknowledged) {
  publish_text("x");
  const auto receiver = open("&hold=1m");
  const auto got = take_one(*receiver);
  EXPECT_EQ(run({"XTRIM", stream_, "MAXLEN", "0"}), "1");
  EXPECT_TRUE(receiver->acknowledge(got.tag).has_value());
  EXPECT_EQ(pending(), "0");
}

TEST_F(redis_streams_holds, an_entry_that_is_deleted_can_be_neither_extended_nor_given_back) {
  publish_text("x");
  publish_text("y");
  const auto receiver = open("&hold=1m");
  const auto got = take_all(*receiver, 2);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(run({"XTRIM", stream_, "MAXLEN", "0"}), "2");
  EXPECT_EQ(receiver->extend(got[0].tag).error().code, errc::not_found);
  const auto returned = receiver->give_back(got[1].tag, 0ms);
  EXPECT_EQ(returned.error().code, errc::not_found);
  EXPECT_NE(returned.error().detail.find("deleted"), std::string::npos);
  EXPECT_EQ(pending(), "0");
}

TEST_F(redis_streams_holds, an_abandoned_entry_that_was_deleted_is_dropped) {
  publish_text("x");
  publish_text("y");
  receive_as("dead");
  EXPECT_EQ(run({"XDEL", stream_, first_pending()}), "1");
  const auto receiver = open();
  EXPECT_EQ(take_one(*receiver).received.payload, "y");
  EXPECT_EQ(pending(), "1");
}

TEST_F(redis_streams_holds, a_delivery_that_another_took_over_is_lost) {
  publish_text("x");
  const auto former = open("&hold=1m");  // for it, the hold is not over
  const auto first = take_one(*former);
  const auto other = open("&hold=100ms");
  const auto second = take_one(*other);
  EXPECT_EQ(second.count, 2u);
  expect_lost(*former, first.tag);
  EXPECT_EQ(pending(), "1");
}

TEST_F(redis_streams_holds, one_that_has_the_same_name_takes_over_as_any_other) {
  publish_text("x");
  const auto former = open("&hold=1m&consumer=same");
  const auto first = take_one(*former);
  const auto other = open("&hold=100ms&consumer=same");
  static_cast<void>(take_one(*other));
  for (int act = 0; act < 3; ++act) expect_lost(*former, first.tag);
  EXPECT_EQ(pending(), "1");
}

TEST_F(redis_streams_holds, a_delivery_is_lost_when_its_hold_is_over_also_where_nobody_took_it) {
  publish_text("x");
  const auto receiver = open("&hold=200ms");
  const auto got = take_one(*receiver);
  const auto end = base::boot_now() + 200ms;
  wait_until("the end of the hold", [&] { return base::boot_now() >= end; });
  expect_lost(*receiver, got.tag);
  EXPECT_EQ(take_one(*receiver).count, 2u);
}

TEST_F(redis_streams_holds, a_consumer_takes_over_what_it_held_for_too_long_itself) {
  publish_text("x");
  const auto receiver = open("&hold=200ms");
  const auto first = take_one(*receiver);
  const auto second = take_one(*receiver);
  EXPECT_EQ(second.count, 2u);
  expect_lost(*receiver, first.tag);
}

/// Receives one message, stops, and when it goes on acknowledges the message. Exits with the error.
pid_t begin_stopping_consumer(const std::string& url) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  messaging::broker_params params;
  params.url = url;
  const auto receiver = messaging::open_consumer(params).value();
  const auto got = receiver->receive(1, 20s).value();
  ::raise(SIGSTOP);
  const auto late = receiver->acknowledge(got.at(0).tag);
  ::_exit(late ? 100 : static_cast<int>(late.error().code));
}

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(redis_streams_holds, a_consumer_that_was_stopped_for_too_long_can_not_acknowledge) {
  // A hold that is over on its clock, and one that only the server knows to be over.
  for (const std::string hold : {"&hold=300ms", "&hold=1m"}) {
    publish_text("x");
    const auto child = begin_stopping_consumer(consumer_url(hold + "&consumer=stopped"));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    const auto end = base::boot_now() + 300ms;
    wait_until("the end of the shorter hold", [&] { return base::boot_now() >= end; });
    grow_idle("stopped", first_pending());
    const auto other = open("&hold=1m");
    const auto got = take_one(*other);
    ::kill(child, SIGCONT);
    EXPECT_EQ(exit_code_of(child), static_cast<int>(errc::not_found)) << hold;
    EXPECT_EQ(pending(), "1");
    EXPECT_TRUE(other->acknowledge(got.tag).has_value());
  }
}

TEST_F(redis_streams_holds, a_name_that_is_used_again_after_a_crash_gets_its_entries_again) {
  publish_text("x");
  const auto begin = base::boot_now();
  receive_as("worker-1");
  const auto receiver = open("&hold=2s&consumer=worker-1");
  const auto got = take_one(*receiver);
  EXPECT_GE(base::boot_now() - begin, 1'950ms);
  EXPECT_EQ(got.count, 2u);
  EXPECT_TRUE(receiver->acknowledge(got.tag).has_value());
  EXPECT_EQ(pending(), "0");
}

TEST_F(redis_streams_holds, abandoned_entries_are_found_behind_many_that_are_held) {
  constexpr std::size_t many = 450;
  std::vector<messaging::message> batch;
  for (std::size_t i = 0; i < many; ++i) batch.push_back(text_message(std::to_string(i)));
  ASSERT_TRUE(publish(batch).has_value());
  const auto holder = open("&hold=1m", many);
  ASSERT_EQ(take_all(*holder, many).size(), many);
  publish_text("abandoned");
  receive_as("dead");
  const auto last = server().session().list({"XPENDING", stream_, "workers"}).at(2);
  grow_idle("dead", last);
  const auto receiver = open("&hold=1m");
  EXPECT_EQ(take_one(*receiver).received.payload, "abandoned");
}

// --- delays -------------------------------------------------------------------------------------

TEST_F(redis_streams_holds, a_delay_may_be_longer_than_the_hold) {
  publish_text("x");
  const auto receiver = open("&hold=2s");
  const auto other = open("&hold=300ms");
  const auto begin = base::boot_now();
  ASSERT_TRUE(receiver->give_back(take_one(*receiver).tag, 4s).has_value());
  EXPECT_TRUE(take(*other, 1, 1s).empty());
  EXPECT_TRUE(has_consumer("onceguard:until:"));
  const auto again = take_one(*receiver);
  EXPECT_GE(base::boot_now() - begin, 3'950ms);
  EXPECT_EQ(again.count, 2u);
  EXPECT_FALSE(has_consumer("onceguard:until:"));  // its name is gone with the entry
}

TEST_F(redis_streams_holds, a_delay_outlives_the_consumer_that_wanted_it) {
  publish_text("x");
  publish_text("y");
  const auto begin = base::boot_now();
  {
    const auto receiver = open("&hold=2400ms");
    const auto got = take_all(*receiver, 2);
    ASSERT_TRUE(receiver->give_back(got.at(0).tag, 2'500ms).has_value());
    ASSERT_TRUE(receiver->give_back(got.at(1).tag, 700ms).has_value());
  }
  const auto other = open("&hold=2400ms");
  std::set<std::string> payloads;
  while (payloads.size() < 2) {
    const auto got = take_one(*other);
    EXPECT_GE(base::boot_now() - begin, got.received.payload == "x" ? 2'450ms : 650ms);
    payloads.insert(got.received.payload);
    EXPECT_TRUE(other->acknowledge(got.tag).has_value());
  }
}

TEST_F(redis_streams_holds, what_is_given_back_is_another_consumers_as_well) {
  publish_text("x");
  const auto giver = open("&hold=1m");
  ASSERT_TRUE(giver->give_back(take_one(*giver).tag, 0ms).has_value());
  const auto other = open("&hold=1m");
  EXPECT_EQ(take_one(*other).count, 2u);
}

// --- names of consumers -------------------------------------------------------------------------

TEST_F(redis_streams_holds, a_consumer_that_goes_leaves_no_name_and_gives_back_what_it_held) {
  publish_text("x");
  {
    const auto receiver = open("&hold=1m");
    static_cast<void>(take_one(*receiver));
    EXPECT_TRUE(has_consumer("onceguard."));
  }
  EXPECT_FALSE(has_consumer("onceguard."));
  EXPECT_EQ(pending(), "1");
  const auto other = open("&hold=1m");
  EXPECT_EQ(take_one(*other).received.payload, "x");
}

TEST_F(redis_streams_holds, a_name_for_which_something_is_pending_stays) {
  publish_text("x");
  const auto first = open("&hold=1m&consumer=same");
  const auto got = take_one(*first);
  open("&hold=1m&consumer=same").reset();
  EXPECT_TRUE(has_consumer("same"));
  EXPECT_TRUE(first->acknowledge(got.tag).has_value());
}

TEST_F(redis_streams_holds, names_of_killed_consumers_are_forgotten_and_no_others) {
  publish_text("x");
  receive_as("onceguard.host.18.0a1b");  // something is pending for it
  for (const std::string name :
       {"onceguard.host.17.0a1b", "onceguard.other", "other.host.17.0a1b"}) {
    run({"XGROUP", "CREATECONSUMER", stream_, "workers", name});
  }
  wait_until("the name to go", [&] {
    open("&hold=100ms&consumer=visitor").reset();
    return !has_consumer("onceguard.host.17.0a1b");
  });
  EXPECT_TRUE(has_consumer("onceguard.other"));
  EXPECT_TRUE(has_consumer("other.host.17.0a1b"));
  EXPECT_TRUE(has_consumer("onceguard.host.18.0a1b"));
  EXPECT_EQ(pending(), "1");
}

TEST_F(redis_streams_holds, a_consumer_at_its_limit_notices_that_the_connection_broke) {
  publish_text("x");
  const auto receiver = open("&hold=1m", 1);
  static_cast<void>(take_one(*receiver));
  std::jthread later([] { run({"CLIENT", "KILL", "TYPE", "normal"}); });
  const auto got = receiver->receive(1, patience);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::broker_unreachable);
}

}  // namespace
}  // namespace onceguard::testing
