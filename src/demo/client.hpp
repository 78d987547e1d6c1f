// The demo's customers, who pay for an order over HTTP with an idempotency key.
#pragma once
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "demo/reply.hpp"
#include "demo/wire.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::demo {

/// A customer's `POST /charges`.
struct payment {
  payment(std::string to_customer, std::string for_order, int of_amount, std::string with_key)
      : customer(std::move(to_customer)),
        order(std::move(for_order)),
        amount(of_amount),
        key(std::move(with_key)) {}
  std::string customer;  ///< Authorization: Bearer …
  std::string order;
  int amount;
  std::string key;
};

/// A connection to the shop or the gateway.
class shop_connection {
 public:
  explicit shop_connection(const asio::any_io_executor& executor);

  /// False if the connection is refused.
  asio::awaitable<bool> open(const base::endpoint& endpoint);
  asio::awaitable<bool> send(const payment& payment);
  asio::awaitable<reply> receive();
  /// Waits until the answer arrives, then closes the connection without reading: the answer is
  /// lost.
  asio::awaitable<reply> lose();
  void hang_up();

 private:
  tcp::socket socket_;
  http1::reader reader_;
  std::string out_;
};

/// Sends one payment on a new connection.
asio::awaitable<reply> pay(const base::endpoint& endpoint, const payment& payment);
/// The same, but the answer is lost.
asio::awaitable<reply> pay_and_lose_answer(const base::endpoint& endpoint, const payment& payment);
/// Sends `count` payments at once: all connections are open before the first request is sent.
asio::awaitable<std::vector<reply>> pay_at_once(const base::endpoint& endpoint,
                                                const payment& payment, std::size_t count);

}  // namespace onceguard::demo
