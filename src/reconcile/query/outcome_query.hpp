// The operator's SQL query that finds out from the application's tables whether an operation took
// effect. Its connection is not the store's: the query may use another database, and it blocks its
// thread.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "libpq/conninfo.hpp"

namespace onceguard::postgres {

struct outcome_query_params {
  std::string url;
  /// One statement. `$1` is the scope's digest in hex, `$2` the key (both text), `$3` the token
  /// (bigint). These columns are read, by name: `outcome` ('done', 'none', 'unknown'), `status`,
  /// `headers` (text[]: name, value, name, value …), `body`; a row without the column `outcome`
  /// means done.
  std::string query;
  milliseconds timeout{10'000};     ///< for connecting, and for one answer
  bool read_only = false;           ///< the server refuses statements that would write
  bool absent_is_not_done = false;  ///< no row means not done; otherwise no row means unknown
};

/// Blocks. Belongs to one thread at a time.
class outcome_query {
 public:
  explicit outcome_query(outcome_query_params params) : params_(std::move(params)) {}

  /// Connects if there is no connection, and has the server check the query.
  /// errc::invalid_argument: the URL or the query is wrong.
  [[nodiscard]] result<void> open();
  /// Never fails: every error gives the report `unknown`. The answer is as in the row, not checked
  /// yet against HTTP's rules. Does not reconnect: see open().
  [[nodiscard]] effect_report ask(const digest& scope, const std::string& key, token lease_token);

 private:
  [[nodiscard]] result<void> connect();
  [[nodiscard]] result<void> set_up();

  const outcome_query_params params_;
  std::string name_;
  connection_ptr connection_;
};

}  // namespace onceguard::postgres
