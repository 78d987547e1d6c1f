// The body of a guarded request, in memory.
#pragma once
#include <cstdint>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/byte_budget.hpp>

#include "gateway/session.hpp"
#include "http/problem.hpp"

namespace onceguard::gateway {

enum class body_arrival : std::uint8_t { whole, too_large, no_room, too_slow, malformed, gone };

/// Counts in the gateway's budget.
class request_body {
 public:
  explicit request_body(session& client);

  /// Reads the body of the session's request.
  boost::asio::awaitable<body_arrival> receive();
  /// What the client gets for a body that did not arrive so. Not of a client that is gone.
  [[nodiscard]] http::refusal refusal_of(body_arrival arrived) const;
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }
  /// It stays in memory while its operation waits and runs.
  void count() noexcept { room_.set(bytes_.capacity()); }
  [[nodiscard]] std::string take() noexcept { return std::move(bytes_); }
  void drop();

 private:
  [[nodiscard]] bool make_room_for(std::size_t more);

  session& client_;
  std::string bytes_;
  byte_reservation room_;
};

}  // namespace onceguard::gateway
