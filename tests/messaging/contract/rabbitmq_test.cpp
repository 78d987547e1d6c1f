// What only RabbitMQ does, or can do wrong.
#include <chrono>
#include <tuple>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/rabbitmq_broker.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing::rabbitmq {
namespace {

using namespace std::chrono_literals;
using messaging::delivery;
using messaging::message;

constexpr milliseconds long_wait{20'000};

/// With limits so low that the tests can reach them.
rabbitmq_broker& broker() {
  static rabbitmq_broker shared(
      "{max_message_size, 1000000}, {consumer_timeout, 3000}, {channel_tick_interval, 500}");
  return shared;
}

messaging::broker_params params_of(const std::string& url, milliseconds timeout = 10s) {
  messaging::broker_params out;
  out.url = url;
  out.timeout = timeout;
  return out;
}

std::unique_ptr<messaging::consumer> consume(const std::string& url) {
  return messaging::open_consumer(params_of(url)).value();
}
std::unique_ptr<messaging::publisher> publish_to(const std::string& url) {
  return messaging::open_publisher(params_of(url)).value();
}

message text(std::string payload) {
  message out;
  out.payload = std::move(payload);
  return out;
}

result<void> publish(messaging::publisher& sender, const message& sent) {
  return sender.publish({&sent, 1});
}

delivery take_one(messaging::consumer& receiver) {
  auto got = receiver.receive(1, long_wait).value();
  if (got.size() != 1) throw std::runtime_error("no delivery came");
  return std::move(got.front());
}

/// The URL with another part between "//" and the host.
std::string with_login(std::string url, const std::string& login) {
  return url.insert(url.find("//") + 2, login + "@");
}

bool mentions(const error& why, std::string_view words) {
  return why.detail.find(words) != std::string::npos;
}

TEST(rabbitmq, a_wrong_password_is_named_and_not_repeated) {
  const auto url = broker().make_queue().consumer_url;
  const auto why = messaging::open_consumer(params_of(with_login(url, "guest:wrong"))).error();
  EXPECT_EQ(why.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(why, "refuses the user or the password")) << why.detail;
  EXPECT_FALSE(mentions(why, "guest")) << why.detail;
  EXPECT_FALSE(mentions(why, "wrong")) << why.detail;
  EXPECT_TRUE(messaging::open_consumer(params_of(with_login(url, "guest:guest"))).has_value());
}

TEST(rabbitmq, a_virtual_host_that_is_missing_is_a_refusal) {
  const auto url = broker().server().url("nowhere/queue");
  const auto consumer = messaging::open_consumer(params_of(url)).error();
  EXPECT_EQ(consumer.code, errc::conflict);
  EXPECT_TRUE(mentions(consumer, "vhost nowhere not found")) << consumer.detail;
  EXPECT_EQ(messaging::open_publisher(params_of(url)).error().code, errc::conflict);
}

TEST(rabbitmq, the_default_virtual_host_can_be_named) {
  auto url = broker().make_queue().consumer_url;
  url.insert(url.rfind('/'), "/%2F");
  EXPECT_TRUE(messaging::open_consumer(params_of(url)).has_value());
}

TEST(rabbitmq, a_host_without_an_address_is_out_of_reach) {
  const auto begin = base::boot_now();
  const auto why = messaging::open_consumer(params_of("amqp://nowhere.invalid/queue", 2s)).error();
  EXPECT_EQ(why.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(why, "name has no address")) << why.detail;
  EXPECT_LT(base::boot_now() - begin, 10s);
}

TEST(rabbitmq, a_url_has_faults_before_anything_is_connected) {
  for (const auto* url :
       {"amqp://host", "amqp://host/a/b/c", "amqp://host/queue?dead_letters=perhaps",
        "amqp://host/queue?heartbeat=0s", "amqp://host/queue?heartbeat=20h",
        "amqp://host/queue?exchange=e"}) {
    EXPECT_EQ(messaging::open_consumer(params_of(url)).error().code, errc::invalid_argument) << url;
  }
  EXPECT_EQ(
      messaging::open_publisher(params_of("amqp://host/" + std::string(256, 'q'))).error().code,
      errc::invalid_argument);
  auto none = params_of("amqp://host/queue");
  none.in_flight = 0;
  EXPECT_EQ(messaging::open_consumer(none).error().code, errc::invalid_argument);
}

TEST(rabbitmq, a_consumer_whose_queue_is_deleted_learns_it) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(*publish_to(queue.publisher_url), text("x")).has_value());
  const auto receiver = consume(queue.consumer_url);
  const auto got = take_one(*receiver);
  broker().server().session().delete_queue(broker().last_queue());
  const auto why = receiver->receive(1, long_wait).error();
  EXPECT_EQ(why.code, errc::not_found) << why.detail;
  EXPECT_EQ(receiver->acknowledge(got.tag).error().code, errc::not_found);
}

TEST(rabbitmq, a_publisher_whose_queue_is_deleted_is_refused) {
  const auto queue = broker().make_queue();
  const auto sender = publish_to(queue.publisher_url);
  broker().server().session().delete_queue(broker().last_queue());
  const auto why = publish(*sender, text("x")).error();
  EXPECT_EQ(why.code, errc::not_found) << why.detail;
  EXPECT_EQ(messaging::open_publisher(params_of(queue.publisher_url)).error().code,
            errc::not_found);
}

/// What comes of a batch amid an alarm, and how long it took.
std::pair<result<void>, milliseconds> publish_amid_alarm(const std::string& url,
                                                         milliseconds timeout) {
  std::unique_ptr<messaging::publisher> sender;
  wait_until("a broker that answers within the timeout", [&] {
    sender = messaging::open_publisher(params_of(url, timeout)).value();
    return true;
  });
  // More than the sockets' buffers hold.
  const std::vector<message> batch(40, text(std::string(900'000, 'x')));
  broker().server().control({"set_vm_memory_high_watermark", "0"});
  const auto begin = base::boot_now();
  auto sent = sender->publish(batch);
  const auto took = std::chrono::duration_cast<milliseconds>(base::boot_now() - begin);
  broker().server().control({"set_vm_memory_high_watermark", "0.4"});
  return {std::move(sent), took};
}

TEST(rabbitmq, a_memory_alarm_blocks_no_publisher_for_ever) {
  const auto queue = broker().make_queue();
  // A busy broker may not have said within the timeout that it takes nothing.
  milliseconds timeout = 1'500ms;
  auto [sent, took] = publish_amid_alarm(queue.publisher_url, timeout);
  while (!sent && sent.error().code == errc::broker_unreachable && timeout < 20s) {
    timeout *= 4;
    std::tie(sent, took) = publish_amid_alarm(queue.publisher_url, timeout);
  }
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, errc::store_full);
  EXPECT_EQ(sent.error().effect, effect::unknown);
  EXPECT_TRUE(mentions(sent.error(), "takes no messages now: low on memory"))
      << sent.error().detail;
  EXPECT_LT(took, timeout + 10s);
  EXPECT_TRUE(publish(*publish_to(queue.publisher_url), text("x")).has_value());
}

TEST(rabbitmq, a_batch_may_be_larger_than_all_buffers) {
  const auto queue = broker().make_queue();
  auto params = params_of(queue.publisher_url, 60s);
  const std::vector<message> batch(60, text(std::string(500'000, 'x')));
  ASSERT_TRUE(messaging::open_publisher(params).value()->publish(batch).has_value());
  // And so may be what comes back.
  params.url += "?exchange=amq.direct&key=nobody";
  const auto why = messaging::open_publisher(params).value()->publish(batch).error();
  EXPECT_EQ(why.code, errc::not_found) << why.detail;
}

TEST(rabbitmq, a_message_without_a_queue_is_refused_and_the_next_one_is_not) {
  const auto queue = broker().make_queue();
  broker().server().session().declare_exchange("orders");
  const auto sender = publish_to(queue.publisher_url + "?exchange=orders&key=new");
  const auto why = publish(*sender, text("lost")).error();
  EXPECT_EQ(why.code, errc::not_found);
  EXPECT_TRUE(mentions(why, "no queue takes a message: NO_ROUTE")) << why.detail;
  broker().server().session().bind_queue(broker().last_queue(), "orders", "new");
  ASSERT_TRUE(publish(*sender, text("kept")).has_value());
  EXPECT_EQ(take_one(*consume(queue.consumer_url)).received.payload, "kept");
  const auto missing = params_of(queue.publisher_url + "?exchange=missing");
  EXPECT_EQ(messaging::open_publisher(missing).error().code, errc::not_found);
}

TEST(rabbitmq, a_message_that_is_too_large_is_refused_and_the_next_one_is_not) {
  const auto queue = broker().make_queue();
  const auto sender = publish_to(queue.publisher_url);
  const auto why = publish(*sender, text(std::string(2'000'000, 'x'))).error();
  EXPECT_EQ(why.code, errc::conflict) << why.detail;
  EXPECT_TRUE(mentions(why, "larger than")) << why.detail;
  EXPECT_TRUE(publish(*sender, text("x")).has_value());
}

TEST(rabbitmq, a_message_that_the_broker_did_not_store_was_not_published) {
  broker().server().session().declare_queue("small", {});
  broker().server().control(
      {"set_policy", "small", "^small$", R"({"max-length": 1, "overflow": "reject-publish"})"});
  const auto sender = publish_to(broker().server().url("small"));
  error why{errc::stopped, "all were stored"};
  wait_until("the queue to be full", [&] {
    const auto sent = publish(*sender, text("x"));
    if (!sent) why = sent.error();
    return !sent;
  });
  EXPECT_EQ(why.code, errc::store_full) << why.detail;
  EXPECT_TRUE(mentions(why, "could not store")) << why.detail;
}

TEST(rabbitmq, what_amqp_can_not_carry_is_not_sent) {
  const auto queue = broker().make_queue();
  const auto sender = publish_to(queue.publisher_url);
  auto long_id = text("x");
  long_id.properties = {{"message_id", std::string(256, 'x')}};
  auto long_header = text("x");
  long_header.headers = {{"name", std::string(200'000, 'x')}};
  auto no_time = text("x");
  no_time.properties = {{"timestamp", "yesterday"}};
  for (const auto& sent : {long_id, long_header, no_time}) {
    const std::vector<message> batch{text("first"), sent};
    EXPECT_EQ(sender->publish(batch).error().code, errc::conflict);
  }
  EXPECT_TRUE(publish(*sender, text("last")).has_value());
  EXPECT_EQ(take_one(*consume(queue.consumer_url)).received.payload, "last");
}

TEST(rabbitmq, the_properties_arrive) {
  const auto queue = broker().make_queue();
  auto sent = text("x");
  sent.properties = {{"message_id", "1"},       {"correlation_id", "2"},
                     {"type", "order"},         {"content_type", "text/plain"},
                     {"content_encoding", "x"}, {"app_id", "shop"},
                     {"reply_to", "answers"},   {"timestamp", "1700000000"}};
  sent.headers = {{"large", std::string(100'000, 'x')}, {"empty", ""}};
  auto with_unknown = sent;
  with_unknown.properties.emplace_back("partition", "3");
  ASSERT_TRUE(publish(*publish_to(queue.publisher_url), with_unknown).has_value());
  const auto got = take_one(*consume(queue.consumer_url)).received;
  EXPECT_EQ(got.properties, sent.properties);
  EXPECT_EQ(got.headers, sent.headers);
}

amqp_table_entry_t header(const char* name, char kind) {
  amqp_table_entry_t out{};
  out.key = amqp_cstring_bytes(name);
  out.value.kind = static_cast<std::uint8_t>(kind);
  return out;
}

TEST(rabbitmq, headers_that_are_numbers_arrive_as_texts) {
  const auto queue = broker().make_queue();
  std::vector<amqp_table_entry_t> all{
      header("byte", 'b'), header("int", 'I'),  header("long", 'l'), header("double", 'd'),
      header("bool", 't'), header("time", 'T'), header("void", 'V'), header("table", 'F')};
  all[0].value.value.i8 = -5;
  all[1].value.value.i32 = -70'000;
  all[2].value.value.i64 = 1LL << 40;
  all[3].value.value.f64 = 0.25;
  all[4].value.value.boolean = 1;
  all[5].value.value.u64 = 1'700'000'000;
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_HEADERS_FLAG;
  properties.headers = {static_cast<int>(all.size()), all.data()};
  broker().server().session().publish(broker().last_queue(), properties);
  const std::vector<messaging::attribute> expected{
      {"byte", "-5"},     {"int", "-70000"}, {"long", "1099511627776"},
      {"double", "0.25"}, {"bool", "true"},  {"time", "1700000000"}};
  EXPECT_EQ(take_one(*consume(queue.consumer_url)).received.headers, expected);
}

TEST(rabbitmq, a_quorum_queue_counts_each_delivery) {
  const auto queue = broker().make_queue();
  auto sent = text("x");
  sent.headers = {{"name", "value"}};
  ASSERT_TRUE(publish(*publish_to(queue.publisher_url), sent).has_value());
  auto receiver = consume(queue.consumer_url);
  for (std::uint32_t count = 1; count <= 5; ++count) {
    const auto got = take_one(*receiver);
    EXPECT_EQ(got.count, count);
    EXPECT_EQ(got.received.headers, sent.headers);
    if (count % 2 == 0) {
      receiver = consume(queue.consumer_url);  // the one that held it is gone
    } else {
      ASSERT_TRUE(receiver->give_back(got.tag, 0ms).has_value());
    }
  }
}

TEST(rabbitmq, the_end_of_a_consumer_counts_once_and_what_it_gives_back_goes_to_others) {
  const auto queue = broker().make_queue();
  const auto sender = publish_to(queue.publisher_url);
  for (const auto* const payload : {"1", "2", "3"}) {
    ASSERT_TRUE(publish(*sender, text(payload)).has_value());
  }
  auto ending = consume(queue.consumer_url);
  const auto kept = take_one(*ending);  // the others are sent, too, and not returned yet
  const auto given = take_one(*ending);
  ASSERT_TRUE(ending->stop_intake().has_value());
  ASSERT_TRUE(ending->give_back(given.tag, 0ms).has_value());
  const auto other = consume(queue.consumer_url);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(take_one(*other).count, 2u);
  ASSERT_TRUE(publish(*sender, text("4")).has_value());
  EXPECT_EQ(take_one(*other).received.payload, "4");
  EXPECT_TRUE(ending->extend(kept.tag).has_value()) << "it is still held";
  ending.reset();
  EXPECT_EQ(take_one(*other).count, 2u);
}

TEST(rabbitmq, a_classic_queue_serves_as_well) {
  broker().server().session().declare_queue("classic", {});
  const auto url = broker().server().url("classic");
  const auto sender = publish_to(url);
  ASSERT_TRUE(publish(*sender, text("1")).has_value());
  ASSERT_TRUE(publish(*sender, text("2")).has_value());
  const auto receiver = consume(url);
  EXPECT_FALSE(receiver->traits().dead_letters);
  const auto first = take_one(*receiver);
  EXPECT_EQ(first.count, 1u);
  EXPECT_EQ(receiver->dead_letter(first.tag).error().code, errc::invalid_argument);
  ASSERT_TRUE(receiver->acknowledge(first.tag).has_value());
  auto second = take_one(*receiver);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(receiver->give_back(second.tag, 0ms).has_value());
    second = take_one(*receiver);
    EXPECT_EQ(second.count, 2u);  // it knows no more
    EXPECT_EQ(second.received.payload, "2");
  }
  ASSERT_TRUE(receiver->acknowledge(second.tag).has_value());
}

TEST(rabbitmq, a_delivery_that_is_held_beyond_the_brokers_limit_costs_the_consumer) {
  const auto queue = broker().make_queue();
  ASSERT_TRUE(publish(*publish_to(queue.publisher_url), text("x")).has_value());
  const auto slow = consume(queue.consumer_url);
  const auto got = take_one(*slow);
  error why;
  wait_until("the broker to close the channel", [&] {
    const auto next = slow->receive(1, 200ms);
    if (!next) why = next.error();
    return !next;
  });
  EXPECT_EQ(why.code, errc::broker_unreachable);
  EXPECT_TRUE(mentions(why, "timed out")) << why.detail;
  EXPECT_EQ(slow->acknowledge(got.tag).error().code, errc::broker_unreachable);
  EXPECT_EQ(take_one(*consume(queue.consumer_url)).count, 2u);
}

TEST(rabbitmq, a_consumer_that_waits_notices_a_broker_that_hangs) {
  const auto queue = broker().make_queue();
  std::unique_ptr<messaging::consumer> receiver;
  wait_until("a broker that answers within the timeout", [&] {
    receiver = messaging::open_consumer(params_of(queue.consumer_url, 500ms)).value();
    return true;
  });
  broker().pause();
  const auto begin = base::boot_now();
  const auto got = receiver->receive(1, long_wait);
  const auto took = base::boot_now() - begin;
  broker().go_on();
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().code, errc::broker_unreachable) << got.error().detail;
  EXPECT_LT(took, 10s);
}

TEST(rabbitmq, a_consumer_that_waits_gives_signs_of_life) {
  const auto queue = broker().make_queue();
  std::unique_ptr<messaging::consumer> receiver;
  wait_until("some seconds in which no thread was late", [&] {
    receiver = consume(queue.consumer_url + "&heartbeat=1s");
    return receiver->receive(1, 5s).value().empty();  // the broker waits for 2 to 3 seconds
  });
  ASSERT_TRUE(publish(*publish_to(queue.publisher_url), text("x")).has_value());
  EXPECT_EQ(take_one(*receiver).received.payload, "x");
}

}  // namespace
}  // namespace onceguard::testing::rabbitmq
