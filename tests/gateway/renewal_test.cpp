// Leases of the gateway are renewed while its I/O threads can do nothing.
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "gateway/server.hpp"
#include "store/memory/memory_store.hpp"
#include "support/manual_clock.hpp"

namespace onceguard::gateway {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

/// A store whose second claim holds the thread that makes it until the first lease was renewed
/// twice.
class holding_store final : public store {
 public:
  explicit holding_store(store& inner) : inner_(inner) {}

  /// Whether the leases were renewed while the thread was held; empty: it never was.
  [[nodiscard]] std::optional<bool> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, long_, [this] { return held_.has_value(); });
    return held_;
  }

  [[nodiscard]] store_traits traits() const override { return inner_.traits(); }
  asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                      milliseconds timeout) override {
    if (++claims_ == 2) hold();
    return inner_.claim(std::move(batch), timeout);
  }
  asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                       milliseconds timeout) override {
    return inner_.settle(std::move(batch), timeout);
  }
  asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                    milliseconds timeout) override {
    {
      const std::lock_guard lock(mutex_);
      ++renewals_;
    }
    changed_.notify_all();
    return inner_.extend(std::move(batch), timeout);
  }
  asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                    milliseconds timeout) override {
    return inner_.resolve(std::move(request), timeout);
  }
  asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                           milliseconds timeout) override {
    return inner_.find(id, timeout);
  }
  asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor, std::size_t limit,
                                          milliseconds timeout) override {
    return inner_.list(std::move(filter), std::move(cursor), limit, timeout);
  }
  asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override {
    return inner_.count(std::move(cursor), timeout);
  }
  asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                        milliseconds timeout) override {
    return inner_.import_record(std::move(request), timeout);
  }
  asio::awaitable<result<std::size_t>> sweep(std::size_t limit, milliseconds timeout) override {
    return inner_.sweep(limit, timeout);
  }
  asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    return inner_.vitals(timeout);
  }
  void stop() override { inner_.stop(); }

 private:
  static constexpr std::chrono::seconds long_{60};

  void hold() {
    std::unique_lock lock(mutex_);
    const auto first = renewals_;
    const bool renewed = changed_.wait_for(lock, long_, [&] { return renewals_ >= first + 2; });
    held_ = renewed;
    changed_.notify_all();
  }

  store& inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t renewals_ = 0;
  std::optional<bool> held_;
  std::atomic<int> claims_{0};
};

TEST(renewal, goes_on_while_the_only_io_thread_is_held) {
  base::manual_clock clock;
  memory_store inner(clock);
  holding_store records(inner);
  asio::io_context io;
  tcp::acceptor upstream(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));

  gateway_params params;
  params.threads = 1;
  params.listen.port = 0;
  params.drain = milliseconds(0);
  routing_params routing;
  routing.upstreams.push_back(
      {"service", {"127.0.0.1", upstream.local_endpoint().port()}, "", "service"});
  routing.routes.emplace_back();
  routing.routes[0].policy.lease = milliseconds(3'000);
  server tested(params, routing, records);
  ASSERT_TRUE(tested.start());

  const tcp::endpoint there(asio::ip::address_v4::loopback(), tested.local().port);
  std::array<tcp::socket, 2> clients{tcp::socket(io), tcp::socket(io)};
  const auto post = [&](std::size_t which) {
    clients[which].connect(there);
    asio::write(clients[which],
                asio::buffer("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " +
                             std::to_string(which) + "\r\nContent-Length: 0\r\n\r\n"));
  };
  post(0);
  const auto running = upstream.accept();  // and gets no answer: the lease is held
  post(1);
  const auto renewed = records.wait();
  ASSERT_TRUE(renewed.has_value());
  EXPECT_TRUE(*renewed);
}

}  // namespace
}  // namespace onceguard::gateway
