// The fake shop of the demo: charges cards, is slow, loses answers, and ignores idempotency keys.
#pragma once
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "demo/wire.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::demo {

/// `POST /charges` with `{"order": "A-1", "amount": 4200}` charges a card at each request, and
/// answers 201 with the charge. Belongs to the thread that runs the io_context. Must outlive the
/// io_context.
class shop {
 public:
  /// Listens on a free port.
  explicit shop(asio::io_context& context);

  /// After close(): listens on the same port again.
  void open();
  /// Takes the shop down: stops listening, and ends every connection.
  void close();
  [[nodiscard]] base::endpoint address() const { return {"127.0.0.1", port_}; }

  void take(std::chrono::milliseconds per_charge) { delay_ = per_charge; }
  /// If set, one of every three answers is lost, beginning with the next: the connection ends
  /// instead.
  void lose_answers(bool one_in_three);

  /// How often the card was charged for this order.
  [[nodiscard]] std::size_t charges(const std::string& order) const;
  /// The answer to the first charge of this order.
  [[nodiscard]] std::string first_charge(const std::string& order) const;

  /// Waits until `count` requests for this order have arrived, charged or not. False: they did not
  /// within some seconds; who was to bring them may be gone.
  asio::awaitable<bool> arrived(std::string order, std::size_t count);
  /// Waits until the card was charged `count` times for this order.
  asio::awaitable<void> charged(std::string order, std::size_t count);

 private:
  using socket_ptr = std::shared_ptr<tcp::socket>;
  struct order_counts {
    std::size_t arrived = 0;
    std::vector<std::string> charges;  // the bodies of the answers
  };

  asio::awaitable<void> listen();
  asio::awaitable<void> serve(socket_ptr socket);
  asio::awaitable<bool> charge(tcp::socket& socket, const message& request);
  [[nodiscard]] bool loses_this_answer();
  void tell();

  asio::io_context& context_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::uint16_t port_ = 0;
  std::vector<std::weak_ptr<tcp::socket>> connections_;
  std::chrono::milliseconds delay_{30};
  bool loses_ = false;
  std::size_t answers_ = 0;
  std::size_t charges_ = 0;
  std::map<std::string, order_counts> orders_;
  asio::steady_timer pending_;  // cancelled whenever a card is charged
};

}  // namespace onceguard::demo
