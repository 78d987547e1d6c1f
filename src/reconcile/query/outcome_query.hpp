// A query of the operator's own that tells from the application's tables whether an operation took
// effect. Not the store's: it may ask another database, and it waits for its answer.
#pragma once
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <string>

#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::postgres {

struct outcome_query_params {
  std::string url;
  /// One statement. `$1` is the scope's digest in hex, `$2` the key (both text), `$3` the token
  /// (bigint). Columns that count, by name: `outcome` ('done', 'none', 'unknown'), `status`,
  /// `headers` (text[]: name, value, name, value …), `body`; a row without `outcome` says done.
  std::string query;
  milliseconds timeout{10'000};     ///< of a connection, and of one answer
  bool read_only = false;           ///< the server refuses what would write
  bool absent_is_not_done = false;  ///< no row: the operation was not done; else: still unknown
};

/// Blocks. Belongs to one thread at a time.
class outcome_query {
 public:
  explicit outcome_query(outcome_query_params params) : params_(std::move(params)) {}

  /// Connects where there is no connection, and has the server look at the query.
  /// errc::invalid_argument: the URL or the query is wrong.
  [[nodiscard]] result<void> open();
  /// Never fails: whatever goes wrong is unknown. The answer is as the row has it: not checked yet
  /// for HTTP's rules. It does not connect again: see open().
  [[nodiscard]] effect_report ask(const digest& scope, const std::string& key, token lease_token);

 private:
  struct close {
    void operator()(PGconn* held) const noexcept { PQfinish(held); }
  };

  [[nodiscard]] result<void> connect();
  [[nodiscard]] result<void> set_up();

  const outcome_query_params params_;
  std::string name_;
  std::unique_ptr<PGconn, close> on_;
};

}  // namespace onceguard::postgres
