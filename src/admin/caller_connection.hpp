// A connection of the admin listener, and what it shows of its caller.
#pragma once
#include <string>
#include <string_view>

#include "admin/resource.hpp"
#include "base/clock.hpp"
#include "http1/server/served_connection.hpp"

namespace onceguard::admin {

class caller_connection final : public http1::served_connection {
 public:
  caller_connection(http1::stream_socket socket, boost::asio::io_context& io);

  /// Sends the answer to the request that was read last. False: the connection is over.
  boost::asio::awaitable<bool> send(const response& answer);

  access shown = access::open;  ///< by the token of its last request

  /// While its request is carried out, a connection waits for nobody.
  void set_busy(bool busy) noexcept {
    busy_ = busy;
    waits_since_ = base::boot_now();
  }
  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// When the wait for the client began: for its request, or that it takes the answer.
  [[nodiscard]] base::boot_clock::time_point waits_since() const noexcept { return waits_since_; }

 private:
  std::string answer_to_fault(std::uint16_t status, std::string_view why) override;

  base::boot_clock::time_point waits_since_ = base::boot_now();
  bool busy_ = false;
};

}  // namespace onceguard::admin
