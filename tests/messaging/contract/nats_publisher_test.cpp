// What a publisher to JetStream does beyond the contract suite, and how both refuse to connect.
#include "messaging/contract/nats_fixture.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;
using messaging::message;

class nats_publisher : public nats_fixture {
 protected:
  static std::string subject(const std::string& stream) {
    return broker().queue_of(stream).publisher_url;
  }
  static message with_header(std::string name, std::string value) {
    auto out = text("x");
    out.headers.emplace_back(std::move(name), std::move(value));
    return out;
  }
};

TEST_F(nats_publisher, a_message_that_is_in_the_stream_already_is_a_success) {
  const auto queue = broker().make_queue();
  const std::vector<message> batch{text("x", "17"), text("x", "17")};
  ASSERT_TRUE(publish(queue.publisher_url, batch).has_value());
  ASSERT_TRUE(publish(queue.publisher_url, batch).has_value());
  const auto receiver = connect(at(queue.consumer_url));
  EXPECT_EQ(take(*receiver, 10).size(), 1u);
  EXPECT_TRUE(take(*receiver, 10, 300ms).empty());
}

TEST_F(nats_publisher, what_is_larger_than_max_payload_is_refused_before_anything_is_sent) {
  nats_broker small("max_payload: 2000");
  const auto stream = small.add_stream();
  const auto url = small.queue_of(stream).publisher_url;
  const auto out = publish(url, {text("x"), text(std::string(2'001, 'x'))});
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::conflict);
  EXPECT_NE(out.error().detail.find("message 1"), std::string::npos) << out.error().detail;
  EXPECT_EQ(small.session().messages_in(stream), 0u);
  EXPECT_TRUE(publish(url, {text(std::string(2'000, 'x'))}).has_value());
  // The headers count: NATS/1.0, the id's line and the empty line have 10 + 16 + 2 bytes.
  EXPECT_TRUE(publish(url, {text(std::string(2'000 - 28, 'x'), "1")}).has_value());
  EXPECT_FALSE(publish(url, {text(std::string(2'000 - 27, 'x'), "2")}).has_value());
  EXPECT_EQ(small.session().messages_in(stream), 2u);
}

TEST_F(nats_publisher, what_can_not_be_a_header_is_refused_before_anything_is_sent) {
  const auto stream = broker().add_stream();
  const std::vector<message> unsendable{
      with_header("", "x"),
      with_header("two words", "x"),
      with_header("colon:", "x"),
      with_header("n\xc3\xa4me", "x"),
      with_header("name", ""),
      with_header("name", "a\r\nNats-Msg-Id: 2"),
      with_header("name", "a\nb"),
      with_header("name", std::string("a\0b", 3)),
      with_header("name", " a"),
      with_header("name", "a\t"),
      with_header("nats-msg-id", "17"),
      with_header("Nats-Rollup", "all"),
      text("x", "1\r\n2"),
      text("x", " "),
  };
  for (std::size_t i = 0; i < unsendable.size(); ++i) {
    const auto out = publish(subject(stream), {text("first"), unsendable[i]});
    ASSERT_FALSE(out.has_value()) << i;
    EXPECT_EQ(out.error().code, errc::invalid_argument) << i;
  }
  const auto large = publish(subject(stream), {with_header("name", std::string(66'000, 'x'))});
  EXPECT_EQ(large.error().code, errc::conflict);
  EXPECT_EQ(broker().session().messages_in(stream), 0u);
}

TEST_F(nats_publisher, the_bytes_of_headers_arrive) {
  const auto queue = broker().make_queue();
  std::string bytes;
  for (int c = 1; c < 256; ++c) {
    if (c != '\r' && c != '\n') bytes += static_cast<char>(c);
  }
  auto sent = text("", "id: with\tmore \xff");
  sent.headers = {{"bytes", "<" + bytes + ">"},
                  {"link", "https://example.org/a:b"},
                  {"line", "Nats-Msg-Id: 18"},
                  {"twice", "1"},
                  {"twice", "2"}};
  ASSERT_TRUE(publish(queue.publisher_url, {sent}).has_value());
  const auto receiver = connect(at(queue.consumer_url));
  const auto got = take_one(*receiver);
  EXPECT_EQ(got.received.payload, "");
  EXPECT_EQ(property(got, "message_id"), "id: with\tmore \xff");
  for (const auto& [name, value] : sent.headers) {
    if (name != "twice") {
      EXPECT_EQ(header(got, name), value);
    }
  }
  std::string both;
  for (const auto& [name, value] : got.received.headers) {
    if (name == "twice") both += value;
  }
  EXPECT_EQ(both, "12");
}

TEST_F(nats_publisher, a_subject_that_no_stream_takes_is_an_error) {
  nats_broker empty;
  const auto lonely = sender(empty.server().url("/nobody.takes.this"));
  const std::vector<message> batch(3, text("x"));
  for (int i = 0; i < 2; ++i) {
    const auto out = lonely->publish(batch);
    ASSERT_FALSE(out.has_value());
    EXPECT_EQ(out.error().code, errc::not_found);
  }
  empty.session().add_stream("nobody");
  const auto later = lonely->publish(batch);
  EXPECT_TRUE(later.has_value()) << later.error().detail;
  EXPECT_EQ(empty.session().messages_in("nobody"), 3u);
}

TEST_F(nats_publisher, a_full_stream_is_no_fault_of_the_message) {
  const auto stream = broker().add_stream([](auto& config) {
    config.MaxMsgs = 1;
    config.Discard = js_DiscardNew;
  });
  ASSERT_TRUE(publish(subject(stream), {text("1")}).has_value());
  const auto out = publish(subject(stream), {text("2")});
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::store_full) << out.error().detail;
}

TEST_F(nats_publisher, of_a_batch_that_fills_the_stream_it_is_known_what_is_stored) {
  const auto stream = broker().add_stream([](auto& config) {
    config.MaxMsgs = 2;
    config.Discard = js_DiscardNew;
  });
  const auto filling = sender(subject(stream));
  const std::vector batch{text("1"), text("2"), text("3"), text("4")};
  ASSERT_EQ(filling->publish(batch).error().code, errc::store_full);
  const auto stored = messaging::publication::stored;
  const auto not_stored = messaging::publication::not_stored;
  EXPECT_EQ(filling->progress(), (std::vector{stored, stored, not_stored, not_stored}));
  EXPECT_EQ(broker().session().messages_in(stream), 2u);
}

TEST_F(nats_publisher, nothing_overtakes_a_refused_message_of_its_key) {
  const auto stream = broker().add_stream([](auto& config) { config.MaxMsgSize = 10; });
  std::vector<message> batch{text("1"), text(std::string(11, 'x')), text("3")};
  for (auto& one : batch) one.order_key = "key";
  const auto out = publish(subject(stream), batch);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::conflict);
  EXPECT_EQ(out.error().effect, effect::unknown);
  EXPECT_NE(out.error().detail.find("maximum"), std::string::npos) << out.error().detail;
  EXPECT_EQ(broker().session().messages_in(stream), 1u);
}

TEST_F(nats_publisher, a_large_batch_arrives_in_its_order) {
  const auto queue = broker().make_queue();
  constexpr int count = 3'000;
  std::vector<message> batch;
  for (int i = 0; i < count; ++i) batch.push_back(text(std::to_string(i), std::to_string(i)));
  ASSERT_TRUE(publish(queue.publisher_url, batch).has_value());
  // So few at once that all are acknowledged within their hold, also on a busy machine.
  constexpr int at_once = 200;
  const auto receiver = connect(at(queue.consumer_url, at_once));
  int next = 0;
  while (next < count) {
    const auto got = take(*receiver, at_once);
    ASSERT_FALSE(got.empty());
    for (const auto& one : got) {
      ASSERT_EQ(one.received.payload, std::to_string(next++));
      ASSERT_TRUE(receiver->acknowledge(one.tag).has_value());
    }
  }
}

TEST_F(nats_publisher, a_url_that_names_nothing_is_refused) {
  for (const auto* path : {"", "/", "/a/b", "/a..b", "/a.*", "/%3E", "/a%20b", "/a."}) {
    const auto out = messaging::open_publisher(at(broker().server().url(path)));
    ASSERT_FALSE(out.has_value()) << path;
    EXPECT_EQ(out.error().code, errc::invalid_argument) << path;
  }
}

TEST_F(nats_publisher, a_wrong_password_is_said_and_not_shown) {
  nats_broker closed("authorization { user: me, password: secret }");
  const auto wrong = messaging::open_publisher(at(closed.server().url("/a", "me:hidden@")));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, errc::broker_unreachable);
  EXPECT_NE(wrong.error().detail.find("password"), std::string::npos) << wrong.error().detail;
  EXPECT_EQ(wrong.error().detail.find("hidden"), std::string::npos) << wrong.error().detail;
  const auto none = messaging::open_publisher(at(closed.server().url("/a")));
  EXPECT_EQ(none.error().code, errc::broker_unreachable);
  EXPECT_TRUE(messaging::open_publisher(at(closed.server().url("/a", "me:secret@"))).has_value());
}

TEST_F(nats_publisher, a_missing_permission_has_the_words_of_the_server) {
  nats_broker strict(
      "authorization { users: [{ user: me, password: secret, permissions: "
      "{ publish: { deny: \"closed.>\" } } }] }");
  auto params = at(strict.server().url("/closed.a", "me:secret@"));
  params.timeout = 1'500ms;
  std::unique_ptr<messaging::publisher> lonely;
  wait_until("a server that answers within the timeout", [&] {
    lonely = messaging::open_publisher(params).value();
    return true;
  });
  const std::vector<message> batch{text("x")};
  const auto out = lonely->publish(batch);
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::conflict);
  EXPECT_NE(out.error().detail.find("ermission"), std::string::npos) << out.error().detail;
}

TEST_F(nats_publisher, a_host_that_does_not_exist_is_out_of_reach) {
  const auto out = messaging::open_publisher(at("nats://no-such-host.invalid/a"));
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::broker_unreachable);
  EXPECT_NE(out.error().detail.find("no address"), std::string::npos) << out.error().detail;
}

TEST_F(nats_publisher, a_server_without_jetstream_is_said) {
  const nats_server plain("accounts { A { users: [{ user: me, password: secret }] } }");
  const auto out = messaging::open_consumer(at(plain.url("/a/b", "me:secret@")));
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().code, errc::conflict) << out.error().detail;
  EXPECT_NE(out.error().detail.find("JetStream"), std::string::npos) << out.error().detail;
}

}  // namespace
}  // namespace onceguard::testing
