// What RabbitMQ does not take for now: while it is low on memory or disk, and where a queue is
// full.
#include <chrono>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>
#include <onceguard/subscription.hpp>

#include "base/clock.hpp"
#include "messaging/batch_publisher.hpp"
#include "messaging/contract/rabbitmq_broker.hpp"
#include "messaging/subscription/dead_letters.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing::rabbitmq_room {
namespace {

using namespace std::chrono_literals;
using messaging::message;
using messaging::publication;

rabbitmq_broker& broker() {
  static rabbitmq_broker shared;
  return shared;
}

messaging::broker_params params_of(const std::string& url, milliseconds timeout = 10s) {
  messaging::broker_params out;
  out.url = url;
  out.timeout = timeout;
  return out;
}

std::vector<message> messages(std::size_t count) {
  std::vector<message> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i].payload = std::to_string(i);
    out[i].properties.emplace_back("message_id", out[i].payload);
  }
  return out;
}

/// All payloads of a queue, in order; it is empty then. Fewer, where no more came for long.
std::vector<std::string> drained(const std::string& url, std::size_t at_least) {
  const auto receiver = messaging::open_consumer(params_of(url)).value();
  const auto end = base::boot_now() + 120s;
  std::vector<std::string> out;
  for (auto wait = 20'000ms; true; wait = 300ms) {
    if (out.size() < at_least) wait = 20'000ms;
    for (const auto& one : receiver->receive(64, wait).value()) {
      out.push_back(one.received.payload);
      EXPECT_TRUE(receiver->acknowledge(one.tag).has_value());
    }
    if (out.size() >= at_least && wait == 300ms) return out;
    if (base::boot_now() > end) return out;
  }
}

std::vector<std::string> payloads(const std::vector<message>& sent) {
  std::vector<std::string> out;
  for (const auto& one : sent) out.push_back(one.payload);
  return out;
}

/// While it exists, the broker has an alarm, which it tells to whoever publishes.
class alarm {
 public:
  explicit alarm(std::vector<std::string> begin = {"set_vm_memory_high_watermark", "0"},
                 std::vector<std::string> end = {"set_vm_memory_high_watermark", "0.4"})
      : end_(std::move(end)) {
    const auto queue = broker().make_queue();
    broker().server().control(std::move(begin));
    std::unique_ptr<messaging::publisher> sender;
    wait_until("a publisher", [&] {
      sender = messaging::open_publisher(params_of(queue.publisher_url, 1s)).value();
      return true;
    });
    const auto one = messages(1);
    wait_until("the alarm", [&] { return !sender->publish(one).has_value(); });
  }
  alarm(const alarm&) = delete;
  alarm& operator=(const alarm&) = delete;
  ~alarm() { over(); }

  void over() {
    if (!std::exchange(over_, true)) broker().server().control(end_);
  }

 private:
  std::vector<std::string> end_;
  bool over_ = false;
};

std::unique_ptr<alarm> make_alarm(bool disk) {
  if (!disk) return std::make_unique<alarm>();
  return std::make_unique<alarm>(
      std::vector<std::string>{"set_disk_free_limit", "1000000000000000"},
      std::vector<std::string>{"set_disk_free_limit", "1000000"});
}

/// Once the alarm is over: `sent` says what the broker took of the batch, and gets the rest.
void publish_rest(messaging::batch_publisher& sender, const std::vector<message>& batch,
                  const result<messaging::refusals>& sent) {
  ASSERT_TRUE(sent.has_value());
  EXPECT_TRUE(sent->front().empty());
  std::vector<message> rest;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!(*sent)[i].empty()) rest.push_back(batch[i]);
  }
  EXPECT_EQ(rest.size(), 19u) << "nothing was written after the broker said so";
  ASSERT_TRUE(sender.publish(rest).has_value());
}

/// False: within the timeout the broker neither took the first message nor said that it takes none.
bool leaves_no_copies(bool disk, milliseconds timeout) {
  const auto queue = broker().make_queue();
  const auto batch = messages(20);
  const auto low = make_alarm(disk);
  messaging::batch_publisher sender(params_of(queue.publisher_url, timeout));
  auto sent = sender.publish(batch);
  if (!sent && sent.error().code == errc::broker_unreachable) return false;
  for (int i = 0; i < 3; ++i) {
    if (sent || !sender.waits()) {
      ADD_FAILURE() << "the first of a connection is on its way: "
                    << (sent ? "stored" : sent.error().detail);
      return true;
    }
    EXPECT_EQ(sent.error().code, errc::store_full) << sent.error().detail;
    sent = sender.wait_on(batch);
  }
  low->over();
  while (sender.waits()) sent = sender.wait_on(batch);
  publish_rest(sender, batch, sent);
  EXPECT_EQ(drained(queue.consumer_url, 20), payloads(batch));
  return true;
}

TEST(rabbitmq_room, attempts_amid_an_alarm_leave_no_copies) {
  for (const bool disk : {false, true}) {
    EXPECT_TRUE(leaves_no_copies(disk, 1s) || leaves_no_copies(disk, 4s) ||
                leaves_no_copies(disk, 16s));
  }
}

/// False: the broker did not say within the timeout what it does.
bool waits_for_what_an_alarm_meets(milliseconds timeout) {
  const auto queue = broker().make_queue();
  auto all = messages(21);
  messaging::batch_publisher sender(params_of(queue.publisher_url, timeout));
  if (!sender.publish(std::span(all).first(1))) return false;
  const auto batch = std::span(all).subspan(1);
  alarm low;
  static_cast<void>(sender.publish(batch));
  if (!sender.waits()) return false;
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(sender.wait_on(batch));
    EXPECT_TRUE(sender.waits());
  }
  low.over();
  wait_until("the confirms", [&] {
    const auto done = sender.wait_on(batch);
    return !sender.waits() && done.has_value() &&
           std::all_of(done->begin(), done->end(), [](const auto& one) { return one.empty(); });
  });
  EXPECT_EQ(drained(queue.consumer_url, 21), payloads(all));
  return true;
}

TEST(rabbitmq_room, what_an_alarm_meets_on_its_way_is_waited_for) {
  EXPECT_TRUE(waits_for_what_an_alarm_meets(1s) || waits_for_what_an_alarm_meets(4s) ||
              waits_for_what_an_alarm_meets(16s));
}

TEST(rabbitmq_room, a_full_queue_has_not_stored_what_it_refused) {
  auto session = broker().server().session();
  session.declare_full_queue("full", 2);
  const auto batch = messages(5);
  const auto sender = messaging::open_publisher(params_of(broker().server().url("full"))).value();
  const auto sent = sender->publish(batch);
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, errc::store_full);
  const auto progress = sender->progress();
  ASSERT_EQ(progress.size(), 5u);
  const auto stored = std::count(progress.begin(), progress.end(), publication::stored);
  EXPECT_EQ(stored, static_cast<std::ptrdiff_t>(session.waiting("full")));
  EXPECT_LT(stored, 5);
  EXPECT_EQ(std::count(progress.begin(), progress.end(), publication::not_stored), 5 - stored);
  // And alone.
  EXPECT_EQ(sender->publish(std::span(batch).first(1)).error().code, errc::store_full);
}

TEST(rabbitmq_room, a_full_queue_gets_each_message_once_as_it_empties) {
  auto session = broker().server().session();
  session.declare_full_queue("narrow", 3);
  const auto url = broker().server().url("narrow");
  const auto batch = messages(12);
  messaging::batch_publisher sender(params_of(url));
  std::vector<message> rest = batch;
  std::vector<std::string> got;
  while (!rest.empty()) {
    const auto sent = sender.publish(rest);
    std::vector<message> later;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (!sent || !(*sent)[i].empty()) later.push_back(rest[i]);
    }
    for (auto& one : drained(url, rest.size() - later.size())) got.push_back(std::move(one));
    rest = std::move(later);
  }
  std::sort(got.begin(), got.end());
  auto wanted = payloads(batch);
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(got, wanted);
}

TEST(rabbitmq_room, a_dead_letter_that_was_refused_is_not_published) {
  auto session = broker().server().session();
  session.declare_full_queue("full-dead", 1);
  session.declare_exchange("nobody");
  inbox_outcome why;
  why.reason = "too often";
  const auto one = messages(1).front();
  messaging::dead_letters full(params_of(broker().server().url("full-dead")), "billing", 1ms);
  bool refused = false;
  for (int i = 0; i < 5 && !refused; ++i) refused = !full.publish(one, "m1", why).has_value();
  EXPECT_TRUE(refused);
  messaging::dead_letters lost(
      params_of(broker().server().url("full-dead") + "?exchange=nobody&key=x"), "billing", 1ms);
  EXPECT_FALSE(lost.publish(one, "m1", why).has_value());
}

/// A timeout that a busy broker misses is one copy more: the letter may have been stored.
bool letters_leave_no_copies(milliseconds timeout) {
  const auto queue = broker().make_queue();
  inbox_outcome why;
  why.reason = "too often";
  const auto all = messages(3);
  messaging::dead_letters target(params_of(queue.publisher_url, timeout), "billing", 1ms);
  alarm low;
  std::vector<bool> done(all.size());
  const auto attempt = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!done[i]) done[i] = target.publish(all[i], "m" + std::to_string(i), why).has_value();
    }
    return std::all_of(done.begin(), done.end(), [](bool one) { return one; });
  };
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(attempt());
  low.over();
  wait_until("the last of them", attempt);
  const auto got = drained(queue.consumer_url, 3);
  for (const auto& one : payloads(all)) {
    EXPECT_NE(std::count(got.begin(), got.end(), one), 0) << one << " is lost";
  }
  return got == payloads(all);
}

TEST(rabbitmq_room, dead_letters_amid_an_alarm_leave_no_copies) {
  EXPECT_TRUE(letters_leave_no_copies(300ms) || letters_leave_no_copies(1'200ms) ||
              letters_leave_no_copies(4'800ms));
}

}  // namespace
}  // namespace onceguard::testing::rabbitmq_room
