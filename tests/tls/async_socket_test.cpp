// What a deadline does to a read whose bytes are there.
#include "tls/async_socket.hpp"

#include <array>
#include <poll.h>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "support/run.hpp"

namespace onceguard::tls {
namespace {

namespace asio = boost::asio;

class async_socket_test : public ::testing::Test {
 protected:
  asio::io_context io;
  tcp::acceptor upstream{io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::array<char, 64> buffer{};

  struct pair {
    std::unique_ptr<async_socket> ours;
    tcp::socket theirs;
  };
  pair connect() {
    auto ours = std::make_unique<async_socket>(tcp::socket(io), io);
    const auto ec =
        testing::run(io, ours->connect(upstream.local_endpoint(), milliseconds(60'000)));
    EXPECT_FALSE(ec) << ec.message();
    return {std::move(ours), upstream.accept()};
  }
  static void send(tcp::socket& socket, std::string_view text) {
    asio::write(socket, asio::buffer(text.data(), text.size()));
  }
  std::string_view text_of(const transfer& read) const { return {buffer.data(), read.bytes}; }
  /// What was sent may be on its way for a moment, also on one machine.
  static void await_readable(async_socket& socket) {
    pollfd arrived{socket.raw().native_handle(), POLLIN, 0};
    EXPECT_EQ(::poll(&arrived, 1, 60'000), 1);
  }
};

TEST_F(async_socket_test, nothing_came_in_time) {
  auto both = connect();
  const auto read = testing::run(io, both.ours->read_some(buffer, milliseconds(20)));
  EXPECT_EQ(read.failure, asio::error::timed_out);
}

TEST_F(async_socket_test, without_time_left_nothing_is_read) {
  auto both = connect();
  send(both.theirs, "there");
  const auto read = testing::run(io, both.ours->read_some(buffer, milliseconds(0)));
  EXPECT_EQ(read.failure, asio::error::timed_out);
}

TEST_F(async_socket_test, what_is_there_is_read_now) {
  auto both = connect();
  EXPECT_EQ(both.ours->read_now(buffer).failure, asio::error::would_block);
  send(both.theirs, "there");
  await_readable(*both.ours);
  const auto read = both.ours->read_now(buffer);
  EXPECT_FALSE(read.failure);
  EXPECT_EQ(text_of(read), "there");
  both.theirs.close();
  await_readable(*both.ours);
  EXPECT_EQ(both.ours->read_now(buffer).failure, asio::error::eof);
}

/// The process stood still past the deadline, and has more to look at than one look at the sockets
/// tells: the deadline is seen before the bytes are.
TEST_F(async_socket_test, what_came_while_the_process_stood_still_is_read) {
  constexpr std::size_t more_than_one_poll = 255;
  std::vector<pair> others;
  std::vector<std::array<char, 8>> ignored(more_than_one_poll);
  for (std::size_t i = 0; i < more_than_one_poll; ++i) {
    others.push_back(connect());
    auto reading = others.back().ours->read_some(ignored[i], milliseconds(60'000));
    asio::co_spawn(io, std::move(reading), [](std::exception_ptr, const transfer&) {});
  }
  auto both = connect();
  std::optional<transfer> read;
  auto reading = both.ours->read_some(buffer, milliseconds(300));
  asio::co_spawn(io, std::move(reading), [&](std::exception_ptr, const transfer& t) { read = t; });
  io.restart();
  io.poll();
  for (auto& other : others) send(other.theirs, "x");
  const auto passed = base::boot_now() + milliseconds(400);
  while (base::boot_now() < passed) std::this_thread::yield();
  send(both.theirs, "there");
  await_readable(*both.ours);
  while (!read) io.run_one();
  EXPECT_FALSE(read->failure) << read->failure.message();
  EXPECT_EQ(text_of(*read), "there");
}

TEST_F(async_socket_test, a_reset_is_not_an_orderly_end) {
  auto both = connect();
  send(both.theirs, "there");
  both.ours->abort();
  EXPECT_FALSE(both.ours->is_open());
  boost::system::error_code ec;
  both.theirs.read_some(asio::buffer(buffer), ec);
  EXPECT_EQ(ec, asio::error::connection_reset);
}

class silent_address_test : public async_socket_test {
 protected:
  using address = asio::ip::address;
  const address here = asio::ip::address_v4::loopback();
  /// Has taken one connection, and does not respond to the next one.
  const address silent = asio::ip::make_address("127.0.0.2");
  const std::uint16_t port = upstream.local_endpoint().port();
  tcp::acceptor full{io};
  tcp::socket first{io};
  async_socket ours{tcp::socket(io), io};

  void SetUp() override {
    full.open(tcp::v4());
    full.bind(tcp::endpoint(silent, port));
    full.listen(0);
    first.connect(full.local_endpoint());
  }
};

TEST_F(silent_address_test, leaves_time_for_the_next) {
  constexpr milliseconds all{20'000};
  std::vector<address> addresses(200, here);
  addresses.front() = silent;
  const auto begin = base::boot_now();
  EXPECT_FALSE(testing::run(io, ours.connect(addresses, port, all)));
  EXPECT_EQ(ours.raw().remote_endpoint(), upstream.local_endpoint());
  EXPECT_LT(base::boot_now() - begin, all) << "it took a two-hundredth";
}

TEST_F(silent_address_test, is_the_last_of_a_socket_that_is_closed_meanwhile) {
  const std::vector<address> both{silent, here};
  asio::post(io, [&] { asio::post(io, [&] { ours.close(); }); });
  EXPECT_EQ(testing::run(io, ours.connect(both, port, milliseconds(60'000))),
            asio::error::operation_aborted);
  EXPECT_FALSE(ours.is_open());
}

TEST_F(async_socket_test, without_an_address_there_is_no_connection) {
  async_socket ours(tcp::socket(io), io);
  const std::vector<asio::ip::address> none;
  EXPECT_EQ(testing::run(io, ours.connect(none, 80, milliseconds(100))),
            asio::error::host_not_found);
}

TEST(transfer_pace, within_the_grace_any_is_good) {
  transfer_pace pace(milliseconds(10'000), 1'024);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(4'000));
  pace.waited(milliseconds(9'000), 0);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(1'000));
  pace.waited(milliseconds(1'000), 0);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(0));
}

TEST(transfer_pace, what_came_earns_time) {
  transfer_pace pace(milliseconds(10'000), 1'024);
  pace.waited(milliseconds(10'000), 512);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(500));
  pace.waited(milliseconds(500), 3 * 1'024);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(3'000));
  pace.waited(milliseconds(60'000), 1);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(0)) << "never less";
}

TEST(transfer_pace, without_a_rate_only_a_pause_counts) {
  transfer_pace pace(milliseconds(10'000), 0);
  pace.waited(milliseconds(100'000), 0);
  EXPECT_EQ(pace.left(milliseconds(4'000)), milliseconds(4'000));
}

}  // namespace
}  // namespace onceguard::tls
