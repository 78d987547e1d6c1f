// What the commands believe of an act when the admin listener does not answer.
#include "admin/remote_records.hpp"

#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <gtest/gtest.h>

#include "http1/client/client.hpp"
#include "support/run.hpp"

namespace onceguard::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Reads one request, and then ends the connection, or keeps silent until the other side does.
class listener_without_answer {
 public:
  explicit listener_without_answer(bool ends) : thread_([this, ends] { serve(ends); }) {}
  ~listener_without_answer() { thread_.join(); }

  [[nodiscard]] base::server_address address() const {
    base::server_address out;
    out.tcp = {"127.0.0.1", acceptor_.local_endpoint().port()};
    return out;
  }
  /// What was sent, after the connection has ended.
  std::string received() {
    thread_.join();
    thread_ = std::thread([] {});
    return received_;
  }

 private:
  void serve(bool ends) {
    auto accepted = acceptor_.accept();
    boost::system::error_code failed;
    std::string ending = "}";
    if (ends) {
      asio::read_until(accepted, asio::dynamic_buffer(received_), ending, failed);
    } else {
      while (!failed) asio::read(accepted, asio::dynamic_buffer(received_), failed);
    }
  }

  asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::string received_;
  std::thread thread_;  // last: it uses the others
};

constexpr std::string_view request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";

TEST(exchange, without_an_answer_may_have_had_its_effect) {
  listener_without_answer ends(true);
  const auto cut = http1::client(ends.address()).exchange("POST", request, milliseconds(30'000));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().effect, effect::unknown) << cut.error().detail;

  listener_without_answer silent(false);
  const auto late = http1::client(silent.address()).exchange("POST", request, milliseconds(3'000));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().effect, effect::unknown) << late.error().detail;
}

TEST(exchange, with_nobody_had_no_effect) {
  base::server_address address;
  {
    asio::io_context io;
    const tcp::acceptor former(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    address.tcp = {"127.0.0.1", former.local_endpoint().port()};
  }
  const auto refused = http1::client(address).exchange("POST", request, milliseconds(30'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().effect, effect::none) << refused.error().detail;
}

TEST(remote_records, an_act_without_an_answer_may_be_done) {
  listener_without_answer listener(true);
  admin::remote_records records({listener.address(), {}}, admin::answer_bodies::left_out, "a test");
  resolution change;
  change.token = 7;
  change.revision = -3;
  const auto resolved = run(records.resolve(change, milliseconds(30'000)));
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().effect, effect::unknown) << resolved.error().detail;
  const auto sent = listener.received();
  EXPECT_NE(sent.find(R"("token":7,"revision":-3)"), std::string::npos) << sent;
}

}  // namespace
}  // namespace onceguard::testing
