// What a connection carries out in one round trip, in one transaction.
#pragma once
#include <cstdint>
#include <vector>

#include "libpq/binary_format.hpp"
#include "store/postgres/connection/remedy.hpp"
#include "store/postgres/queries/statements.hpp"

namespace onceguard::postgres {

/// The effect of a trip that ended without results.
enum class effect_of_failure : std::uint8_t {
  rolled_back,  ///< its transaction was rolled back, or nothing was sent
  unknown,      ///< the connection broke, or the commit did not wait for a standby
};

/// A statement and its parameters. It has rows as its result, if perhaps none.
struct statement_call {
  const statement* sent;
  parameters values;
};

class trip {
 public:
  trip() = default;
  trip(const trip&) = delete;
  trip& operator=(const trip&) = delete;
  virtual ~trip() = default;

  /// The statements, in their order. `connection`: the number of the one that sends them.
  [[nodiscard]] virtual std::vector<statement_call> calls(std::int64_t connection) = 0;
  /// Whether the commit must wait for the standby even if the trip writes nothing, because an
  /// earlier commit may not have reached the standby.
  [[nodiscard]] virtual bool confirms() const noexcept { return false; }

  /// One of these two functions ends the trip. The results are those of a committed transaction,
  /// one for each call.
  virtual void arrived(const std::vector<result_ptr>& results) = 0;
  virtual void failed(const failure& why, effect_of_failure after) = 0;
};

}  // namespace onceguard::postgres
