// A transaction, or a part of the caller's, on a connection of libpq.
#pragma once
#include <libpq-fe.h>
#include <optional>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/postgres.hpp>

namespace onceguard::postgres {

/// Why nothing can be begun on this connection now.
[[nodiscard]] std::optional<error> not_ready(const PGconn* connection);

/// The caller's connection is to be ready, and to outlive it. What begins the transaction travels
/// with the first statement, what ends it with the last: each is one round trip.
class libpq_transaction final : public sql_transaction {
 public:
  explicit libpq_transaction(PGconn* connection);

  [[nodiscard]] bool whole() const noexcept override { return whole_; }
  void begin(isolation_level level) override;
  row run(const std::string& statement) override;
  void commit(const std::string& last_statement) override;
  void roll_back() noexcept override;

 private:
  PGconn* on_;
  const bool whole_;
  std::string to_send_;  // what begins it, until a statement goes out
  bool begun_ = false;
};

}  // namespace onceguard::postgres
