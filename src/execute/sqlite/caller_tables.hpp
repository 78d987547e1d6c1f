// The records inside the caller's own database, for the length of one transaction.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/sqlite/transaction.hpp"

namespace onceguard::sqlite {

/// The reply to a claim.
struct claimed {
  onceguard::verdict verdict;
  std::string progress;  ///< for `run`: how far the work has come
  bool locked = false;   ///< another connection writes to the database (the verdict is busy)
};

/// The tables must exist. Failures of SQLite are thrown.
class caller_tables {
 public:
  explicit caller_tables(connection& connection);

  /// The verdict that the claim would get. Writes nothing; a transaction that reads is enough.
  [[nodiscard]] result<verdict> peek(const claim& request);

  // The functions below need a transaction that writes.
  [[nodiscard]] result<claimed> take(const claim& request);
  [[nodiscard]] result<settled> settle(const settlement& request);
  /// False: the lease has been superseded.
  [[nodiscard]] result<bool> save_progress(const extension& request, std::string_view step,
                                           std::string_view progress);
  [[nodiscard]] std::size_t sweep(std::size_t most);

 private:
  [[nodiscard]] transaction begin();
  [[nodiscard]] std::string progress_of(const record_id& id);

  connection& connection_;
  metadata_table metadata_;
  record_table table_;
};

}  // namespace onceguard::sqlite
