// Whole HTTP messages over a socket, for the demo's shop and its clients.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "http1/message.hpp"

namespace onceguard::cli::demo {

namespace asio = boost::asio;
using asio::ip::tcp;

using header_list = std::vector<std::pair<std::string, std::string>>;

/// A request or an answer, read to its end.
struct message {
  std::string method;
  std::string target;
  std::uint16_t status = 0;
  header_list headers;
  std::string body;
  bool keep_alive = true;

  /// The value of the first header of that name, or empty.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// Reads the next message of a connection. False: it ended, or what came was not HTTP.
asio::awaitable<bool> read_message(tcp::socket& socket, http1::reader& reader, message& message);

/// Writes everything. False: the other side is gone.
asio::awaitable<bool> write_all(tcp::socket& socket, std::string_view bytes);

}  // namespace onceguard::cli::demo
