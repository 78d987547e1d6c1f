// The fake shop of the demo: charges cards, is slow, loses answers, knows nothing of keys.
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

#include "cli/demo/wire.hpp"
#include "gateway/params.hpp"

namespace onceguard::cli::demo {

/// `POST /charges` with `{"order": "A-1", "amount": 4200}` charges a card, each time that it is
/// asked: 201 and the charge. Belongs to the thread that runs the io_context; must outlive it.
class shop {
 public:
  /// Listens on a free port.
  explicit shop(asio::io_context& context);

  /// After close(): listens on the same port again.
  void open();
  /// Down: nobody is listening, and every connection ends.
  void close();
  [[nodiscard]] gateway::endpoint address() const { return {"127.0.0.1", port_}; }

  void take(std::chrono::milliseconds per_charge) { delay_ = per_charge; }
  /// From the next answer on, the first of every three is lost: the connection ends instead.
  void lose_answers(bool one_in_three);

  /// How often the card was charged for this order.
  [[nodiscard]] std::size_t charges(const std::string& order) const;
  /// What was answered to the first charge of this order.
  [[nodiscard]] std::string first_charge(const std::string& order) const;

  /// Until so many requests for this order have come in, charged or not.
  asio::awaitable<void> arrived(std::string order, std::size_t count);
  /// Until the card was charged so often for this order.
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
  asio::steady_timer pending_;  // cancelled whenever something came in or was charged
};

}  // namespace onceguard::cli::demo
