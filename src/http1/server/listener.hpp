// Listens at a TCP address, or at the path of a Unix socket.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include <boost/asio/basic_socket_acceptor.hpp>

#include <onceguard/error.hpp>

#include "base/address.hpp"
#include "http1/server/served_connection.hpp"

namespace onceguard::http1 {

/// A socket that listens already.
struct passed_listener {
  int number = -1;  ///< negative: none
  /// Whether its file is to go when it is closed. Not that of a service manager, which keeps it.
  bool made_file = false;
  /// Whether that is so by now; null: it is.
  std::shared_ptr<const std::atomic<bool>> owns_file{};
};

/// Belongs to the thread of the io_context.
class listener {
 public:
  explicit listener(boost::asio::io_context& io) : io_(io) {}
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  ~listener();  ///< removes the socket's file

  /// Begins to listen. errc::conflict: it can't listen there now; the error names the address.
  /// `mode` is that of a Unix socket's file.
  [[nodiscard]] result<void> listen(const base::server_address& address, mode_t mode = 0600);
  /// Takes over a socket that listens at this address already.
  [[nodiscard]] result<void> take(const base::server_address& address,
                                  const passed_listener& passed);
  /// Negative: it does not listen.
  [[nodiscard]] int number() noexcept { return acceptor_ ? acceptor_->native_handle() : -1; }
  /// Where it listens; with the port that was selected for port 0.
  [[nodiscard]] const base::server_address& local() const noexcept { return bound_; }
  /// Hands each connection over, until close(). `complain` hears of what may pass, as that no
  /// descriptor is left.
  [[nodiscard]] boost::asio::awaitable<void> accept(
      std::function<void(stream_socket)> take, std::function<void(const std::string&)> complain);
  /// Where another process has the socket too, it goes on, and so does its file.
  void close() noexcept;
  /// Whether it removes the socket's file; from any thread, before hand_over().
  [[nodiscard]] bool made_file() const noexcept { return socket_inode_ != 0; }
  /// Closes it for this process alone. `goes_on`: another one has it, and its file, too; else
  /// nobody needs the file.
  void hand_over(bool goes_on) noexcept;

 private:
  using protocol = boost::asio::generic::stream_protocol;

  [[nodiscard]] result<void> find_endpoint(protocol::endpoint& out);
  [[nodiscard]] result<void> free_socket_file() const;
  [[nodiscard]] result<void> learn_address();
  void remove_file() noexcept;
  [[nodiscard]] error fault(const std::string& why) const;

  boost::asio::io_context& io_;
  base::server_address bound_;
  std::optional<boost::asio::basic_socket_acceptor<protocol>> acceptor_;
  ino_t socket_inode_ = 0;  ///< of the file that goes with the socket; 0: none
  std::shared_ptr<const std::atomic<bool>> owns_file_;
};

/// The IP address of the peer; empty: it has none, or is gone.
[[nodiscard]] std::string peer_address(const stream_socket& socket);

}  // namespace onceguard::http1
