// What a relay reads and writes in an outbox besides its deliveries.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "messaging/postgres_queue/queue_connection.hpp"

namespace onceguard::relay {

/// A connection of its own, which is made when it is needed. One thread at a time. Errors: as for
/// messaging::postgres_queue::connection.
class outbox_rows {
 public:
  struct numbers {
    std::uint64_t dead = 0;     ///< rows that nobody sends any more, as far as a million
    milliseconds oldest_age{};  ///< of the oldest live row; 0: there is none
  };

  outbox_rows(messaging::postgres_queue::queue_url url, milliseconds timeout, std::string name);

  /// Notes that the destination refused the message; returns how often it has by now.
  [[nodiscard]] result<std::uint32_t> note_refusal(std::int64_t row, std::string_view reason);
  [[nodiscard]] result<numbers> count();

 private:
  [[nodiscard]] result<messaging::postgres_queue::rows> run(
      const std::string& statement, const messaging::postgres_queue::parameters& values = {});

  const messaging::postgres_queue::queue_url url_;
  const milliseconds timeout_;
  const std::string name_;
  std::unique_ptr<messaging::postgres_queue::connection> server_;
};

}  // namespace onceguard::relay
