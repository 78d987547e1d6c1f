// Reads and writes whole HTTP messages on a socket, for the demo's shop and its clients.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http1/message.hpp"

namespace onceguard::demo {

// A completion token for awaiting socket operations that returns an error as a value.

inline constexpr auto quietly = boost::asio::as_tuple(boost::asio::use_awaitable);

namespace asio = boost::asio;
using asio::ip::tcp;

using header_list = std::vector<std::pair<std::string, std::string>>;

/// A complete request or answer.
struct message {
  std::string method;
  std::string target;
  std::uint16_t status = 0;
  header_list headers;
  std::string body;
  bool keep_alive = true;

  /// The value of the first header with that name, or empty.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// Reads the next message of a connection. False if the connection ended, or for bytes that are not
/// HTTP.
asio::awaitable<bool> read_message(tcp::socket& socket, http1::reader& reader, message& message);

/// Writes all bytes. False if the peer has closed the connection.
asio::awaitable<bool> write_all(tcp::socket& socket, std::string_view bytes);

}  // namespace onceguard::demo
