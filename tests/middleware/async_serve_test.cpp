// async_serve, and the adapter of Boost.Beast over it.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <gmock/gmock.h>

#include <onceguard/beast.hpp>

#include "guard/blocking.hpp"
#include "middleware/middleware_fixture.hpp"

namespace onceguard::http {
namespace {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using middleware_async = middleware_fixture;

TEST_F(middleware_async, repeat_gets_the_first_answer) {
  auto served = make();
  const auto handler = [this]() -> asio::awaitable<response> {
    co_return created("run " + std::to_string(++runs));
  };
  EXPECT_EQ(run_here(served.async_serve(sent.now(), handler)).body, "run 1");
  const auto second = run_here(served.async_serve(sent.now(), handler));
  EXPECT_EQ(second.body, "run 1");
  EXPECT_EQ(value_of(second, "Idempotent-Replayed"), "true");
}

TEST_F(middleware_async, exception_is_rethrown_and_leaves_the_outcome_unknown) {
  auto served = make();
  const auto failing = []() -> asio::awaitable<response> {
    throw std::runtime_error("boom");
    co_return response{};
  };
  EXPECT_THROW(static_cast<void>(run_here(served.async_serve(sent.now(), failing))),
               std::runtime_error);
  EXPECT_THAT(served.serve(sent.now(), charge()).body, HasSubstr("outcome-unknown"));
}

TEST_F(middleware_async, cancellation_reaches_the_handler_and_the_record_is_settled) {
  auto served = make();
  asio::io_context loop(1);
  asio::cancellation_signal stop;
  std::exception_ptr thrown;
  const auto handler = [&]() -> asio::awaitable<response> {
    asio::steady_timer never(loop, std::chrono::hours(1));
    asio::post(loop, [&] { stop.emit(asio::cancellation_type::terminal); });
    co_await never.async_wait(asio::use_awaitable);
    co_return created("never");
  };
  asio::co_spawn(loop, served.async_serve(sent.now(), handler),
                 asio::bind_cancellation_slot(
                     stop.slot(), [&](std::exception_ptr failure, response) { thrown = failure; }));
  loop.run();
  EXPECT_THROW(std::rethrow_exception(thrown), boost::system::system_error);
  EXPECT_THAT(changes, ElementsAre("claimed", "abandoned abandoned"));
}

// ---- Boost.Beast

beast::request_type posting(const std::string& body) {
  beast::request_type out(bhttp::verb::post, "/payments", 11, body);
  out.set("Host", "shop.example");
  out.set("Idempotency-Key", "\"key-1\"");
  out.set("Onceguard-Lease", "forged");
  out.prepare_payload();
  return out;
}

/// The whole message as it goes over the wire.
std::string wire(bhttp::message_generator message) {
  std::string out;
  boost::beast::error_code failed;
  while (!message.is_done()) {
    std::size_t taken = 0;
    for (const auto& piece : message.prepare(failed)) {
      out.append(static_cast<const char*>(piece.data()), piece.size());
      taken += piece.size();
    }
    if (failed) throw boost::system::system_error(failed);
    message.consume(taken);
  }
  return out;
}

class middleware_beast : public middleware_fixture {
 protected:
  template <class Handler>
  std::string send(const middleware& served, Handler handler,
                   beast::request_type message = posting("twenty")) {
    const auto wired = [&]() -> asio::awaitable<std::string> {
      auto got = co_await beast::guarded(served, std::move(message), handler);
      co_return wire(std::move(got));
    };
    return run_here(wired());
  }
};

TEST_F(middleware_beast, handler_sees_its_lease_and_no_forged_one) {
  auto served = make();
  const auto got = send(
      served,
      [](beast::request_type& message) -> asio::awaitable<bhttp::response<bhttp::string_body>> {
        EXPECT_EQ(message.count("Onceguard-Lease"), 1u);
        EXPECT_TRUE(message["Onceguard-Lease"].starts_with("OG1-"));
        EXPECT_EQ(message["Onceguard-Attempt"], "1");
        co_return bhttp::response<bhttp::string_body>(bhttp::status::created, 11, "paid");
      });
  EXPECT_THAT(got, HasSubstr("HTTP/1.1 201"));
  EXPECT_THAT(got, HasSubstr("Content-Length: 4"));
}

TEST_F(middleware_beast, handler_of_an_unguarded_request_sees_no_forged_lease) {
  auto served = make();
  auto message = posting("twenty");
  message.erase("Idempotency-Key");
  const auto handler =
      [](beast::request_type& seen) -> asio::awaitable<bhttp::response<bhttp::string_body>> {
    EXPECT_EQ(seen.count("Onceguard-Lease"), 0u);
    co_return bhttp::response<bhttp::string_body>(bhttp::status::created, 11, "paid");
  };
  EXPECT_THAT(send(served, handler, std::move(message)), HasSubstr("HTTP/1.1 201"));
  EXPECT_THAT(changes, ElementsAre());
}

TEST_F(middleware_beast, body_that_the_status_does_not_allow_is_left_out) {
  auto served = make();
  const auto handler =
      [](beast::request_type&) -> asio::awaitable<bhttp::response<bhttp::string_body>> {
    bhttp::response<bhttp::string_body> out(bhttp::status::no_content, 11, "paid");
    co_return out;
  };
  const auto first = send(served, handler);
  EXPECT_THAT(first, HasSubstr("HTTP/1.1 204"));
  EXPECT_THAT(first, Not(HasSubstr("paid")));
  const auto second = send(served, handler);
  EXPECT_THAT(second, HasSubstr("HTTP/1.1 204"));
  EXPECT_THAT(second, HasSubstr("Idempotent-Replayed: true"));
}

TEST_F(middleware_beast, body_of_another_kind_is_kept_whole) {
  auto served = make();
  const auto handler =
      [this](beast::request_type&) -> asio::awaitable<bhttp::response<bhttp::vector_body<char>>> {
    ++runs;
    bhttp::response<bhttp::vector_body<char>> out(bhttp::status::ok, 11);
    out.body() = {'p', 'a', 'i', 'd'};
    co_return out;
  };
  EXPECT_THAT(send(served, handler), HasSubstr("\r\n\r\npaid"));
  const auto second = send(served, handler);
  EXPECT_THAT(second, HasSubstr("\r\n\r\npaid"));
  EXPECT_THAT(second, HasSubstr("Idempotent-Replayed: true"));
  EXPECT_EQ(runs, 1);
}

TEST_F(middleware_beast, body_over_the_limit_is_sent_and_not_kept) {
  route_policy policy;
  policy.max_answer_body = 3;
  auto served = make(with(policy));
  const auto handler =
      [](beast::request_type&) -> asio::awaitable<bhttp::response<bhttp::vector_body<char>>> {
    bhttp::response<bhttp::vector_body<char>> out(bhttp::status::ok, 11);
    out.body() = {'p', 'a', 'i', 'd'};
    out.prepare_payload();
    co_return out;
  };
  EXPECT_THAT(send(served, handler), HasSubstr("\r\n\r\npaid"));
  EXPECT_THAT(send(served, handler), HasSubstr("answer-not-kept"));
}

}  // namespace
}  // namespace onceguard::http
