// Messages as entries of a stream of Redis, and what the server refuses.
#include <chrono>

#include "messaging/contract/redis_streams_fixture.hpp"
#include "messaging/redis_streams/stream_url.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

using redis_streams_entries = redis_streams_test;

TEST_F(redis_streams_entries, an_entry_has_a_field_for_each_part_of_a_message) {
  auto sent = text_message("x");
  sent.properties = {{"message_id", "17"}};
  sent.headers = {{"trace", "abc"}};
  ASSERT_TRUE(publish({sent}).has_value());
  const auto receiver = open();
  const auto got = take_one(*receiver);
  EXPECT_EQ(*messaging::property_of(got.received, "entry_id"), first_pending());
  EXPECT_EQ(run({"EVAL", "return table.concat(redis.call('XRANGE', KEYS[1], '-', '+')[1][2], ' ')",
                 "1", stream_}),
            "payload x message_id 17 trace abc");
}

TEST_F(redis_streams_entries, an_entry_without_a_payload_arrives_as_json) {
  run({"XADD", stream_, "*", "order", "17", "note", "a \"b\"\n\xc3\xbc", "raw", "\xff\x01",
       "message_id", "m-1", "order", "18"});
  const auto receiver = open();
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload,
            "{\"message_id\":\"m-1\",\"note\":\"a \\\"b\\\"\\n\xc3\xbc\",\"order\":\"18\","
            "\"raw\":{\"hex\":\"ff01\"}}");
  EXPECT_EQ(*messaging::property_of(got.received, "message_id"), "m-1");
  EXPECT_EQ(*messaging::header_of(got.received, "raw"), "\xff\x01");
  EXPECT_EQ(messaging::header_of(got.received, "message_id"), nullptr);
}

TEST_F(redis_streams_entries, a_header_with_the_name_of_a_field_is_refused) {
  for (const std::string name : {"payload", "message_id"}) {
    auto sent = text_message("x");
    sent.headers = {{name, "y"}};
    const auto refused = publish({text_message("first"), sent});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
  EXPECT_EQ(run({"XLEN", stream_}), "0");
}

TEST_F(redis_streams_entries, a_publisher_trims_the_stream) {
  const std::vector<messaging::message> batch(1'000, text_message("x"));
  ASSERT_TRUE(publish(batch, "?max_length=200").has_value());
  EXPECT_LT(std::stoi(run({"XLEN", stream_})), 400);
}

TEST_F(redis_streams_entries, the_backlog_is_unknown_where_the_server_lost_count) {
  for (const std::string payload : {"a", "b", "c"}) publish_text(payload);
  const auto receiver = open("&hold=1m");
  const auto first = take_one(*receiver);
  EXPECT_EQ(receiver->backlog().value(), 3u);
  run({"EVAL", "redis.call('XDEL', KEYS[1], redis.call('XREVRANGE', KEYS[1], '+', '-')[2][1])", "1",
       stream_});
  EXPECT_EQ(receiver->backlog().value(), std::nullopt);
}

// --- what the server refuses --------------------------------------------------------------------

TEST_F(redis_streams_entries, a_missing_group_is_an_error_unless_it_is_to_be_made) {
  publish_text("before");
  const auto url = server().url(stream_) + "?group=others";
  EXPECT_EQ(refusal_of(url).code, errc::not_found);
  EXPECT_EQ(refusal_of(server().url("nothing") + "?group=others").code, errc::not_found);
  for (int i = 0; i < 2; ++i) {  // the second time it is there
    const auto opened = messaging::open_consumer(params_of(url + "&create=yes"));
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    EXPECT_EQ(take_one(**opened).received.payload, "before");
  }
  EXPECT_TRUE(messaging::open_consumer(
                  params_of(server().url(stream_ + "-new") + "?group=others&create=yes"))
                  .has_value());
}

TEST_F(redis_streams_entries, a_group_that_is_destroyed_is_missing) {
  const auto receiver = open();
  run({"XGROUP", "DESTROY", stream_, "workers"});
  EXPECT_EQ(receiver->receive(1, 0ms).error().code, errc::not_found);
  EXPECT_EQ(receiver->backlog().error().code, errc::not_found);
  run({"DEL", stream_});
  EXPECT_EQ(receiver->receive(1, 0ms).error().code, errc::not_found);
  EXPECT_EQ(receiver->backlog().error().code, errc::not_found);
}

TEST_F(redis_streams_entries, a_key_that_is_no_stream_is_a_conflict) {
  run({"SET", stream_ + "-text", "x"});
  const auto url = server().url(stream_ + "-text");
  EXPECT_EQ(refusal_of(url + "?group=workers").code, errc::conflict);
  EXPECT_EQ(refusal_of(url + "?group=workers&create=yes").code, errc::conflict);
  const auto sender = messaging::open_publisher(params_of(url)).value();
  const std::vector batch{text_message("x")};
  EXPECT_EQ(sender->publish(batch).error().code, errc::conflict);
}

TEST_F(redis_streams_entries, a_server_that_is_full_stores_nothing_of_a_batch) {
  const auto sender = messaging::open_publisher(params_of(queue_.publisher_url)).value();
  run({"CONFIG", "SET", "maxmemory", "1"});
  const std::vector batch{text_message("x"), text_message("y")};
  const auto refused = sender->publish(batch);
  run({"CONFIG", "SET", "maxmemory", "0"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, errc::store_full) << "no fault of a message";
  EXPECT_NE(refused.error().detail.find("OOM"), std::string::npos) << refused.error().detail;
  EXPECT_EQ(run({"XLEN", stream_}), "0");
  EXPECT_TRUE(sender->publish(batch).has_value());  // on the same connection
}

TEST_F(redis_streams_entries, a_replica_is_no_broker) {
  const auto receiver = open();
  const auto sender = messaging::open_publisher(params_of(queue_.publisher_url)).value();
  run({"REPLICAOF", "127.0.0.1", "1"});
  const std::vector batch{text_message("x")};
  const auto refused = sender->publish(batch);
  const auto got = receiver->receive(1, 0ms);
  run({"REPLICAOF", "NO", "ONE"});
  EXPECT_EQ(refused.error().code, errc::broker_unreachable);
  EXPECT_EQ(got.error().code, errc::broker_unreachable);
}

TEST_F(redis_streams_entries, a_server_that_is_gone_is_out_of_reach_and_raises_no_signal) {
  const auto sender = messaging::open_publisher(params_of(queue_.publisher_url)).value();
  server().stop();
  // More than one write: the first one learns nothing, the next one would raise SIGPIPE.
  const std::vector batch(100, text_message(std::string(200'000, 'x')));
  const auto sent = sender->publish(batch);
  const auto again = sender->publish(batch);
  server().start();
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().code, errc::broker_unreachable);
  EXPECT_EQ(sent.error().effect, effect::unknown);
  EXPECT_EQ(again.error().code, errc::broker_unreachable);
  EXPECT_EQ(again.error().effect, effect::none);
  EXPECT_EQ(run({"XLEN", stream_}), "0");
}

TEST_F(redis_streams_entries, who_may_not_enter_finds_the_broker_out_of_reach) {
  run({"XADD", stream_, "*", "payload", "x"});
  run({"ACL", "SETUSER", "worker", "on", ">secret-1", "~*", "+@all"});
  const auto url_with = [&](const std::string& login) {
    auto out = consumer_url();
    return out.insert(out.find("//") + 2, login + '@');
  };
  const auto wrong = refusal_of(url_with("worker:secret-2"));
  EXPECT_EQ(wrong.code, errc::broker_unreachable);
  EXPECT_EQ(wrong.detail.find("secret"), std::string::npos) << wrong.detail;
  const auto entered = messaging::open_consumer(params_of(url_with("worker:secret-1")));
  ASSERT_TRUE(entered.has_value()) << entered.error().detail;
  EXPECT_EQ(take_one(**entered).received.payload, "x");

  auto session = server().session();  // stays logged in
  session.run({"CONFIG", "SET", "requirepass", "secret-3"});
  const auto nobody = refusal_of(consumer_url());
  const auto sender = messaging::open_publisher(params_of(queue_.publisher_url));
  const auto opened = messaging::open_consumer(params_of(url_with("default:secret-3")));
  session.run({"CONFIG", "SET", "requirepass", ""});
  EXPECT_EQ(nobody.code, errc::broker_unreachable);
  EXPECT_EQ(sender.error().code, errc::broker_unreachable);
  EXPECT_TRUE(opened.has_value());
}

TEST_F(redis_streams_entries, a_name_that_nobody_can_resolve_says_so) {
  const auto refused = refusal_of("redis://no-such-host.invalid/s?group=g");
  EXPECT_EQ(refused.code, errc::broker_unreachable);
  EXPECT_NE(refused.detail.find("has no address"), std::string::npos) << refused.detail;
}

TEST(redis_streams_settings, several_servers_are_read) {
  using namespace messaging::redis_streams;
  const auto one = read_settings("rediss://h/s?group=g&tls_ca=/ca.pem&tls_name=n",
                                 messaging::broker_role::consumer)
                       .value()
                       .where;
  EXPECT_EQ(one.servers, deployment::single);
  EXPECT_EQ(one.tls->ca, "/ca.pem");
  EXPECT_EQ(one.tls->name, "n");
  const auto cluster =
      read_settings("redis+cluster://me:x@a,b:7000/s", messaging::broker_role::publisher)
          .value()
          .where;
  EXPECT_EQ(cluster.servers, deployment::cluster);
  ASSERT_EQ(cluster.seeds.size(), 2u);
  EXPECT_EQ(cluster.seeds[0].text(), "a:6379");
  EXPECT_EQ(cluster.seeds[1].text(), "b:7000");
  EXPECT_EQ(cluster.url.login->second, "x");
  EXPECT_EQ(cluster.stream, "s");
  const auto watched = read_settings("rediss+sentinel://a,[::1]:7/main/s?sentinel_password=x",
                                     messaging::broker_role::publisher)
                           .value()
                           .where;
  EXPECT_EQ(watched.master, "main");
  EXPECT_EQ(watched.stream, "s");
  EXPECT_EQ(watched.seeds[0].port, 26379);
  EXPECT_EQ(watched.seeds[1].text(), "[::1]:7");
  EXPECT_EQ(watched.sentinel_login->first, "default");
  for (const std::string wrong :
       {"redis://a,b/s", "redis+cluster://a/main/s", "redis+sentinel://a/s",
        "redis+cluster://a/s?sentinel_password=x", "redis+sentinel://a/m/s?sentinel_user=x",
        "redis://a/s?tls_ca=/ca.pem", "rediss://a/s?tls_key=/k", "redis+cluster://a,,b/s"}) {
    EXPECT_FALSE(messaging::url_fault(wrong, messaging::broker_role::publisher).empty()) << wrong;
  }
}

TEST(redis_streams_settings, urls_are_read) {
  using namespace messaging::redis_streams;
  const auto read = read_settings("redis://h/s?group=g&hold=5s&consumer=c&create=yes",
                                  messaging::broker_role::consumer)
                        .value();
  EXPECT_EQ(read.where.url.port, 6379);
  EXPECT_EQ(read.group, "g");
  EXPECT_EQ(read.hold, 5s);
  EXPECT_EQ(read.consumer, "c");
  EXPECT_TRUE(read.create);
  EXPECT_EQ(read_settings("redis://h/s?group=g", messaging::broker_role::consumer)->hold, 30s);
  for (const std::string wrong :
       {"redis://h/s", "redis://h/s?group=", "redis://h?group=g", "redis://h/s/t?group=g",
        "redis://h/s?group=g&hold=0s", "redis://h/s?group=g&hold=9999d",
        "redis://h/s?group=g&consumer=onceguard:returned", "redis://h/s?group=g&consumer=",
        "redis://h/s?group=g&create=1", "redis://h/s?group=g&max_length=1"}) {
    EXPECT_FALSE(messaging::url_fault(wrong, messaging::broker_role::consumer).empty()) << wrong;
  }
  EXPECT_EQ(
      read_settings("redis://h/s?max_length=100", messaging::broker_role::publisher)->max_length,
      100u);
  for (const std::string wrong : {"redis://h/s?group=g", "redis://h/s?max_length=0",
                                  "redis://h/s?max_length=-1", "redis://h/s?max_length=1k"}) {
    EXPECT_FALSE(messaging::url_fault(wrong, messaging::broker_role::publisher).empty()) << wrong;
  }
}

}  // namespace
}  // namespace onceguard::testing
