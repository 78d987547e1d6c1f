// What a link carries out in one round trip, in one transaction of its own.
#pragma once
#include <libpq-fe.h>
#include <string>

#include "store/postgres/failure.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"
#include "store/postgres/statements.hpp"

namespace onceguard::postgres {

/// How a trip ended that has no results.
enum class effect_of_failure : std::uint8_t {
  rolled_back,  ///< its transaction was rolled back, or nothing was sent
  unknown,      ///< the link broke, or a standby was not waited for: it may stand
};

class trip {
 public:
  trip() = default;
  trip(const trip&) = delete;
  trip& operator=(const trip&) = delete;
  virtual ~trip() = default;

  /// The one statement of the trip, prepared by this name.
  [[nodiscard]] virtual const char* statement() const noexcept = 0;
  [[nodiscard]] virtual parameters encode(const greeting& greeting) const = 0;
  /// What is told to those who listen, once the transaction is over; empty: nothing.
  [[nodiscard]] virtual std::string announcement() const { return {}; }
  /// An earlier commit may not have reached the standby: this one's has to wait for it, although
  /// it may write nothing itself.
  [[nodiscard]] virtual bool confirms() const noexcept { return false; }

  /// One of these two ends the trip. The rows are those of a transaction that is committed.
  virtual void arrived(const rows& results) = 0;
  virtual void failed(const failure& why, effect_of_failure after) = 0;
};

}  // namespace onceguard::postgres
