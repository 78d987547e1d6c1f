// What a connection carries out in one round trip, in its own transaction.
#pragma once
#include <libpq-fe.h>
#include <string>

#include "store/postgres/failure.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"
#include "store/postgres/statements.hpp"

namespace onceguard::postgres {

/// The effect of a trip that ended without results.
enum class effect_of_failure : std::uint8_t {
  rolled_back,  ///< its transaction was rolled back, or nothing was sent
  unknown,      ///< the connection broke, or the commit did not wait for a standby
};

class trip {
 public:
  trip() = default;
  trip(const trip&) = delete;
  trip& operator=(const trip&) = delete;
  virtual ~trip() = default;

  /// The name of the trip's statement.
  [[nodiscard]] virtual const char* statement() const noexcept = 0;
  [[nodiscard]] virtual parameters encode(const greeting& greeting) const = 0;
  /// The notification for listeners after the transaction; empty: none.
  [[nodiscard]] virtual std::string announcement() const { return {}; }
  /// Whether the commit must wait for the standby even if the trip writes nothing, because an
  /// earlier commit may not have reached the standby.
  [[nodiscard]] virtual bool confirms() const noexcept { return false; }

  /// One of these two functions ends the trip. The rows are those of a committed transaction.
  virtual void arrived(const rows& results) = 0;
  virtual void failed(const failure& why, effect_of_failure after) = 0;
};

}  // namespace onceguard::postgres
