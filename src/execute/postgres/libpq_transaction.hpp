// A transaction on a libpq connection: a whole one, or a part of the caller's.
#pragma once
#include <libpq-fe.h>
#include <optional>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/postgres.hpp>

namespace onceguard::postgres {

/// Why no transaction can begin on this connection now; empty: one can.
[[nodiscard]] std::optional<error> not_ready(const PGconn* connection);

/// The caller's connection must be ready, and outlive this object. The statement that begins the
/// transaction is sent together with the first statement, and the one that ends it together with
/// the last: each pair is one round trip.
class libpq_transaction final : public sql_transaction {
 public:
  explicit libpq_transaction(PGconn* connection);

  [[nodiscard]] bool whole() const noexcept override { return whole_; }
  void begin(isolation_level level) override;
  row run(const std::string& statement) override;
  void commit(const std::string& last_statement) override;
  void roll_back() noexcept override;

 private:
  PGconn* connection_;
  const bool whole_;
  std::string to_send_;  // the statement that begins the transaction, until it is sent
  bool begun_ = false;
};

}  // namespace onceguard::postgres
