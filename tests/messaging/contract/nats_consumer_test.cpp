// What a consumer of JetStream does beyond the contract suite.
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "messaging/contract/nats_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

class nats_consumer : public nats_fixture {
 protected:
  /// The stream of a consumer that was set so.
  static std::string stream_with(const nats_session::consumer_setter& set,
                                 const nats_session::stream_setter& set_stream = {}) {
    auto stream = broker().add_stream(set_stream);
    broker().session().add_consumer(stream, "reader", hold, set);
    return stream;
  }
  /// A process with a consumer: 0 is its exit code where the work returns true.
  static pid_t fork_with(const std::string& url,
                         const std::function<bool(messaging::consumer&)>& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    try {
      const auto receiver = connect(at(url));
      ::_exit(work(*receiver) ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
  }
  static int end_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static void stop(pid_t child) {
    ::kill(child, SIGSTOP);
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
  }
};

TEST_F(nats_consumer, a_stream_without_the_consumer_is_an_error) {
  const auto queue = broker().queue_of(broker().add_stream());
  const auto why = refused(queue.consumer_url);
  EXPECT_EQ(why.code, errc::not_found);
  EXPECT_NE(why.detail.find("no consumer \"reader\""), std::string::npos) << why.detail;
}

TEST_F(nats_consumer, one_that_does_not_suit_is_refused_with_the_reason) {
  const std::vector<std::pair<nats_session::consumer_setter, std::string>> unsuitable{
      {[](auto& config) { config.DeliverSubject = "somewhere"; }, "push consumer"},
      {[](auto& config) {
         config.DeliverSubject = "somewhere";
         config.AckPolicy = js_AckAll;
       },
       "push consumer"},
      {[](auto& config) { config.HeadersOnly = true; }, "headers"},
  };
  for (const auto& [set, reason] : unsuitable) {
    const auto why = refused(broker().queue_of(stream_with(set)).consumer_url);
    EXPECT_EQ(why.code, errc::invalid_argument);
    EXPECT_NE(why.detail.find(reason), std::string::npos) << why.detail;
  }
}

TEST_F(nats_consumer, the_ack_policy_must_be_explicit) {
  const std::vector<std::pair<jsAckPolicy, std::string>> policies{{js_AckNone, "is none"},
                                                                  {js_AckAll, "is all"}};
  for (const auto& [policy, reason] : policies) {
    const auto stream = stream_with([&](auto& config) { config.AckPolicy = policy; });
    const auto why = refused(broker().queue_of(stream).consumer_url);
    EXPECT_EQ(why.code, errc::invalid_argument);
    EXPECT_NE(why.detail.find(reason), std::string::npos) << why.detail;
  }
}

TEST_F(nats_consumer, a_url_that_names_nothing_is_refused) {
  for (const auto* path : {"/one", "/one/two/three", "/a.b/c", "/a/b%20c", "/a/*"}) {
    EXPECT_EQ(refused(broker().server().url(path)).code, errc::invalid_argument) << path;
  }
}

TEST_F(nats_consumer, the_traits_are_those_of_the_stream_and_the_consumer) {
  const auto usual = connect(at(broker().make_queue().consumer_url));
  EXPECT_FALSE(usual->traits().ordered);
  EXPECT_EQ(usual->traits().redelivery, 0ms);
  std::int64_t steps[]{2'000'000'000, 700'000'000};
  const auto stream = stream_with(
      [&](auto& config) {
        config.MaxAckPending = 1;
        config.MaxDeliver = 5;
        config.BackOff = steps;
        config.BackOffLen = 2;
      },
      [](auto& config) { config.MaxAge = std::chrono::nanoseconds(1h).count(); });
  const auto other = connect(at(broker().queue_of(stream).consumer_url));
  EXPECT_TRUE(other->traits().ordered);
  EXPECT_EQ(other->traits().redelivery, 1h);
  EXPECT_EQ(other->traits().hold, 700ms);
}

TEST_F(nats_consumer, one_at_a_time_keeps_the_order_of_what_is_delivered_again) {
  const auto stream = stream_with([](auto& config) { config.MaxAckPending = 1; });
  const auto queue = broker().queue_of(stream);
  ASSERT_TRUE(publish(queue.publisher_url, {text("1"), text("2")}).has_value());
  const auto receiver = connect(at(queue.consumer_url));
  const auto first = take(*receiver, 10);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(receiver->give_back(first[0].tag, 200ms).has_value());
  const auto again = take_one(*receiver);
  EXPECT_EQ(again.received.payload, "1");
  ASSERT_TRUE(receiver->acknowledge(again.tag).has_value());
  EXPECT_EQ(take_one(*receiver).received.payload, "2");
}

TEST_F(nats_consumer, a_late_settlement_changes_nothing_for_the_next_holder) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  const auto late = connect(at(queue.consumer_url));
  const auto first = take_one(*late);
  const auto next = connect(at(queue.consumer_url));
  const auto second = take_one(*next);
  EXPECT_EQ(second.count, 2u);
  EXPECT_EQ(late->give_back(first.tag, 0ms).error().code, errc::not_found);
  EXPECT_EQ(late->extend(first.tag).error().code, errc::not_found);
  EXPECT_EQ(late->acknowledge(first.tag).error().code, errc::not_found);
  EXPECT_TRUE(take(*late, 1, 300ms).empty());  // it was not given back
  settle(*next, second);
  EXPECT_TRUE(take(*late, 1, hold + 300ms).empty());
}

TEST_F(nats_consumer, one_that_was_frozen_knows_that_it_holds_nothing_any_more) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  int received[2];
  ASSERT_EQ(::pipe(received), 0);
  const auto child = fork_with(queue.consumer_url, [&](auto& receiver) {
    const auto got = take_one(receiver);
    if (::write(received[1], "x", 1) != 1) return false;
    ::raise(SIGSTOP);
    const auto reply = receiver.acknowledge(got.tag);
    return !reply && reply.error().code == errc::not_found;
  });
  char byte = 0;
  ASSERT_EQ(::read(received[0], &byte, 1), 1);
  const auto next = connect(at(queue.consumer_url));
  const auto second = take_one(*next);
  EXPECT_EQ(second.count, 2u);
  ::kill(child, SIGCONT);
  EXPECT_EQ(end_of(child), 0);
  settle(*next, second);
}

TEST_F(nats_consumer, one_that_was_frozen_as_a_message_came_does_not_take_it_for_its) {
  const auto queue = broker().make_queue();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const auto child = fork_with(queue.consumer_url, [&](auto& receiver) {
    if (::write(ready[1], "x", 1) != 1) return false;
    return take(receiver, 1, 4s).empty();
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto session = broker().session();
  wait_until("its request", [&] { return session.waiting_at(queue.consumer_url) == 1; });
  stop(child);
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  const auto next = connect(at(queue.consumer_url));
  const auto second = take_one(*next);
  EXPECT_EQ(second.count, 2u);
  settle(*next, second);
  ::kill(child, SIGCONT);
  EXPECT_EQ(end_of(child), 0);
}

TEST_F(nats_consumer, a_server_that_starts_again_has_the_position) {
  auto queue = broker().make_queue();
  wait_until("two acknowledgements within the hold", [&] {
    queue = broker().make_queue();
    publish(queue.publisher_url, {text("1"), text("2"), text("3")}).value();
    const auto receiver = connect(at(queue.consumer_url));
    for (int i = 0; i < 2; ++i) receiver->acknowledge(take_one(*receiver).tag).value();
    return true;
  });
  broker().server().stop();
  broker().server().start();
  const auto receiver = connect(at(queue.consumer_url));
  const auto rest = take_one(*receiver);
  EXPECT_EQ(rest.received.payload, "3");
  settle(*receiver, rest);
  EXPECT_TRUE(take(*receiver, 1, hold + 300ms).empty());
}

TEST_F(nats_consumer, one_that_waits_notices_the_end_of_the_server) {
  const auto receiver = connect(at(broker().make_queue().consumer_url));
  const auto full_queue = broker().make_queue();
  ASSERT_TRUE(publish(full_queue.publisher_url, {text("x")}).has_value());
  const auto full = connect(at(full_queue.consumer_url, 1));
  take_one(*full);
  const auto session = broker().session();
  std::jthread later([&] {
    ::poll(nullptr, 0, 100);
    broker().stop();
  });
  const auto begin = base::boot_now();
  EXPECT_EQ(receiver->receive(1, long_wait).error().code, errc::broker_unreachable);
  EXPECT_EQ(full->receive(1, long_wait).error().code, errc::broker_unreachable);
  EXPECT_EQ(full->backlog().error().code, errc::broker_unreachable);
  EXPECT_LT(base::boot_now() - begin, 10s);
  later.join();
  broker().start();
}

TEST_F(nats_consumer, one_that_waits_notices_a_server_that_hangs) {
  for (const milliseconds wait : {200ms, long_wait}) {
    auto params = at(broker().make_queue().consumer_url);
    params.timeout = 1s;
    decltype(connect(params)) receiver;
    wait_until("a server that answers within a second", [&] {
      receiver = connect(params);
      return true;
    });
    broker().pause();
    const auto begin = base::boot_now();
    const auto got = receiver->receive(1, wait);
    const auto took = base::boot_now() - begin;
    broker().go_on();
    ASSERT_FALSE(got.has_value());
    EXPECT_EQ(got.error().code, errc::broker_unreachable);
    EXPECT_LT(took, 10s);
    EXPECT_EQ(receiver->acknowledge(1).error().code, errc::broker_unreachable);
  }
}

TEST_F(nats_consumer, a_settlement_that_the_server_does_not_confirm_may_not_have_been_made) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  auto params = at(queue.consumer_url);
  params.timeout = 2s;
  decltype(connect(params)) receiver;
  wait_until("a server that answers within the timeout", [&] {
    receiver = connect(params);
    return true;
  });
  const auto got = take_one(*receiver);
  broker().pause();
  const auto reply = receiver->acknowledge(got.tag);
  broker().go_on();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, errc::broker_unreachable) << reply.error().detail;
  EXPECT_EQ(reply.error().effect, effect::unknown);
}

TEST_F(nats_consumer, an_extension_that_arrives_after_the_hold_is_none) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  const auto receiver = connect(at(queue.consumer_url));
  const auto got = take_one(*receiver);
  const auto over = base::boot_now() + hold + 200ms;
  broker().pause();
  std::jthread later([&] {
    wait_until("the end of the hold", [&] { return base::boot_now() >= over; });
    broker().go_on();
  });
  EXPECT_EQ(receiver->extend(got.tag).error().code, errc::not_found);
}

TEST_F(nats_consumer, one_that_is_deleted_is_not_found) {
  const auto stream = broker().add_stream();
  broker().session().add_consumer(stream, "reader", hold);
  const auto queue = broker().queue_of(stream);
  ASSERT_TRUE(publish(queue.publisher_url, {text("x")}).has_value());
  const auto receiver = connect(at(queue.consumer_url));
  const auto got = take_one(*receiver);
  broker().session().delete_consumer(stream, "reader");
  EXPECT_EQ(receiver->acknowledge(got.tag).error().code, errc::not_found);
  EXPECT_EQ(receiver->receive(1, 300ms).error().code, errc::not_found);
  EXPECT_EQ(receiver->backlog().error().code, errc::not_found);
}

TEST_F(nats_consumer, what_others_hold_counts_for_max_ack_pending) {
  const auto stream = stream_with([](auto& config) {
    config.MaxAckPending = 3;
    config.AckWait = std::chrono::nanoseconds(30s).count();
  });
  const auto queue = broker().queue_of(stream);
  const std::vector<messaging::message> nine(9, text("x"));
  ASSERT_TRUE(publish(queue.publisher_url, nine).has_value());
  const auto one = connect(at(queue.consumer_url));
  const auto other = connect(at(queue.consumer_url));
  const auto begin = base::boot_now();
  auto got = take(*one, 9);
  while (got.size() < 3) got.push_back(take_one(*one));  // on a busy machine, they come one by one
  EXPECT_EQ(got.size(), 3u);
  EXPECT_TRUE(take(*other, 9, 300ms).empty());
  ASSERT_TRUE(one->acknowledge(got[0].tag).has_value());
  const auto fourth = take(*other, 9);  // its request stays open at the server, but for its end
  ASSERT_EQ(fourth.size(), 1u);
  ASSERT_TRUE(one->acknowledge(got[1].tag).has_value());
  EXPECT_EQ(take(*one, 9).size(), 1u);
  ASSERT_TRUE(other->acknowledge(fourth[0].tag).has_value());
  EXPECT_EQ(take(*other, 9).size(), 1u);
  EXPECT_LT(base::boot_now() - begin, 10s);
}

TEST_F(nats_consumer, the_limits_of_its_requests_are_kept) {
  const auto stream = stream_with([](auto& config) {
    config.MaxRequestBatch = 2;
    config.MaxRequestExpires = std::chrono::nanoseconds(100ms).count();
  });
  const auto queue = broker().queue_of(stream);
  const auto receiver = connect(at(queue.consumer_url));
  const auto begin = base::boot_now();
  EXPECT_TRUE(take(*receiver, 10, 350ms).empty());
  EXPECT_GE(base::boot_now() - begin, 300ms);
  const std::vector<messaging::message> three(3, text("x"));
  ASSERT_TRUE(publish(queue.publisher_url, three).has_value());
  EXPECT_EQ(take(*receiver, 10).size(), 2u);
  EXPECT_EQ(take(*receiver, 10).size(), 1u);
}

TEST_F(nats_consumer, headers_of_other_programs_arrive_as_they_were_sent) {
  const auto queue = broker().make_queue();
  const auto subject = queue.publisher_url.substr(queue.publisher_url.rfind('/') + 1);
  broker().server().send_raw(subject,
                             "NATS/1.0\r\nEmpty: \r\nNats-Msg-Id: 17\r\nShort:y\r\nEmpty:\r\n"
                             "Nats-Expected-Stream: " +
                                 subject.substr(0, subject.find('.')) + "\r\n\r\n",
                             "payload");
  const auto receiver = connect(at(queue.consumer_url));
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload, "payload");
  EXPECT_EQ(property(got, "message_id"), "17");
  EXPECT_EQ(property(got, "Nats-Expected-Stream"), subject.substr(0, subject.find('.')));
  EXPECT_EQ(property(got, "sequence"), "1");
  EXPECT_EQ(property(got, "subject"), subject);
  const std::vector<messaging::attribute> expected{{"Empty", ""}, {"Short", "y"}, {"Empty", ""}};
  EXPECT_EQ(got.received.headers, expected);
}

}  // namespace
}  // namespace onceguard::testing
