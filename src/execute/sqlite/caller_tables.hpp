// The records inside the caller's own database, for the length of one transaction.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/sqlite/metadata.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/sqlite/transaction.hpp"

namespace onceguard::sqlite {

/// What a claim was told.
struct claimed {
  onceguard::verdict verdict;
  std::string progress;  ///< run: how far the work has come
  bool locked = false;   ///< somebody else writes to the database (told: busy)
};

/// On tables that are there. Failures of SQLite are thrown.
class caller_tables {
 public:
  explicit caller_tables(connection& connection);

  /// What the claim would meet. Writes nothing, and needs only a transaction that reads.
  [[nodiscard]] result<verdict> peek(const claim& request);

  // These are for a transaction that writes.
  [[nodiscard]] result<claimed> take(const claim& request);
  [[nodiscard]] result<settled> settle(const settlement& request);
  /// False: the lease is another's.
  [[nodiscard]] result<bool> save_progress(const extension& request, std::string_view step,
                                           std::string_view progress);
  [[nodiscard]] std::size_t sweep(std::size_t most);

 private:
  [[nodiscard]] transaction begin();
  [[nodiscard]] std::string progress_of(const record_id& id);

  connection& on_;
  metadata_table metadata_;
  record_table table_;
};

}  // namespace onceguard::sqlite
