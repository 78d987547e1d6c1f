// The sockets on which the gateway takes connections: one of its own, or those that it was given.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <onceguard/error.hpp>

#include "base/address.hpp"

namespace onceguard::gateway {

/// Belongs to the thread of the io_context, once that runs.
class listeners {
 public:
  using acceptor = boost::asio::ip::tcp::acceptor;
  using endpoint = boost::asio::ip::tcp::endpoint;

  explicit listeners(boost::asio::io_context& io) : io_(io) {}
  listeners(const listeners&) = delete;
  listeners& operator=(const listeners&) = delete;
  ~listeners() { close(); }

  /// Listens there.
  [[nodiscard]] result<void> open(const base::endpoint& address);
  /// Takes over sockets that listen already, and closes them at the end.
  [[nodiscard]] result<void> take(const std::vector<int>& passed);

  [[nodiscard]] const std::vector<std::unique_ptr<acceptor>>& all() const noexcept { return all_; }
  [[nodiscard]] const std::vector<endpoint>& addresses() const noexcept { return addresses_; }
  /// The numbers of the sockets. From any thread, until close().
  [[nodiscard]] const std::vector<int>& numbers() const noexcept { return numbers_; }
  /// Where another process has one of the sockets too, it goes on, with the connections in its
  /// queue.
  void close() noexcept;

 private:
  [[nodiscard]] result<void> add(std::unique_ptr<acceptor> made);

  boost::asio::io_context& io_;
  std::vector<std::unique_ptr<acceptor>> all_;
  std::vector<endpoint> addresses_;
  std::vector<int> numbers_;
};

}  // namespace onceguard::gateway
