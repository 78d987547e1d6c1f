// The rows of an outbox that a relay does not send any more: to be looked at, revived or deleted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "relay/relay_params.hpp"

namespace onceguard::messaging::postgres_queue {
class connection;
}  // namespace onceguard::messaging::postgres_queue

namespace onceguard::relay {

struct dead_row {
  std::int64_t number = 0;  ///< of the row
  std::string message_id{};
  std::string order_key{};
  std::uint64_t failures = 0;
  std::string reason{};         ///< why the last time
  std::int64_t dead_since = 0;  ///< wall clock in microseconds; 0: not known
  std::uint64_t payload_size = 0;
};

/// One connection; one thread at a time. Looking takes nothing. Errors: as for
/// messaging::postgres_queue::connection.
class dead_rows {
 public:
  /// errc::invalid_argument: the URL of the outbox.
  [[nodiscard]] static result<dead_rows> open(const relay_params& params);
  dead_rows(dead_rows&& other) noexcept;
  dead_rows& operator=(dead_rows&& other) noexcept;
  dead_rows(const dead_rows&) = delete;
  dead_rows& operator=(const dead_rows&) = delete;
  ~dead_rows();

  /// The oldest by number.
  [[nodiscard]] result<std::vector<dead_row>> list(std::size_t most);
  [[nodiscard]] result<std::optional<dead_row>> find(std::int64_t number);
  /// Those of this id, the oldest by number: among all dead rows, however many there are.
  [[nodiscard]] result<std::vector<dead_row>> of_message(const std::string& message_id,
                                                         std::size_t most);
  /// Lives again, and is sent. False: it is not dead since then, or a consumer holds it.
  [[nodiscard]] result<bool> revive(const dead_row& seen);
  /// The row is gone. False: as above.
  [[nodiscard]] result<bool> drop(const dead_row& seen);

 private:
  dead_rows(std::unique_ptr<messaging::postgres_queue::connection> server, std::string table);
  [[nodiscard]] result<bool> change(std::string_view statement, const dead_row& seen);

  std::unique_ptr<messaging::postgres_queue::connection> server_;
  std::string table_;
};

}  // namespace onceguard::relay
