// The client over Boost.Beast and OpenSSL. Link the component `client_beast`; Beast itself is not
// included here.
#pragma once
#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <onceguard/client.hpp>
#include <onceguard/error.hpp>

namespace onceguard::client {
inline namespace v1 {

/// A connection for each attempt, over HTTP/1.1. Certificates are verified for the URL's host.
class beast_transport final : public transport {
 public:
  /// Connects when something is sent.
  explicit beast_transport(transport_params params = {}) : params_(std::move(params)) {}

  [[nodiscard]] attempt send(const request& sent, milliseconds timeout,
                             const std::stop_token& stop) override;

 private:
  transport_params params_;
};

/// As client::send, on the executor that awaits it. A cancellation of the awaiting coroutine ends
/// the attempt or the wait, and the delivery as canceled.
[[nodiscard]] boost::asio::awaitable<result<delivery>> async_send(request sent,
                                                                  retry_params params = {},
                                                                  transport_params transport = {},
                                                                  attempt_observer observer = {});

}  // namespace v1
}  // namespace onceguard::client
