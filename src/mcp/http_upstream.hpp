// One exchange with the server on streamable HTTP, over Boost.Beast.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <onceguard/error.hpp>

namespace onceguard::mcp {

using http_request = boost::beast::http::request<boost::beast::http::string_body>;
using http_head = boost::beast::http::response_header<>;
/// In a struct, as the header itself converts from anything.
struct received_head {
  http_head value;
};

/// Bytes of an answer that is held as a whole.
inline constexpr std::size_t longest_answer = 64u << 20;

/// Where the server is.
struct upstream_address {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target;     ///< path and query
  std::string authority;  ///< for the header Host
};
[[nodiscard]] result<upstream_address> read_upstream(const std::string& url);

/// A connection with one request on it. Used on the one thread of its io_context.
class http_upstream {
 public:
  http_upstream() = default;
  http_upstream(const http_upstream&) = delete;
  http_upstream& operator=(const http_upstream&) = delete;
  virtual ~http_upstream() = default;

  /// Not started yet, over TLS where the address says so.
  [[nodiscard]] static std::unique_ptr<http_upstream> make(boost::asio::io_context& io,
                                                           const upstream_address& address);

  /// Connects. An error: nothing was sent.
  [[nodiscard]] virtual boost::asio::awaitable<result<void>> connect() = 0;
  /// Sends the request and reads the head of the response. An error: the request may have arrived.
  [[nodiscard]] virtual boost::asio::awaitable<result<received_head>> exchange(
      const http_request& request) = 0;
  /// The next bytes of the response's body; empty text: there are no more.
  [[nodiscard]] virtual boost::asio::awaitable<result<std::string>> read_some() = 0;
  /// Ends whatever is under way.
  virtual void close() noexcept = 0;
};

}  // namespace onceguard::mcp
