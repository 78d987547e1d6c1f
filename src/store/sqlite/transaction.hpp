// One durable commit's worth of work: each item is one SELECT, the pure decision, and at most one
// write. A statement either takes effect or not, so one bad item leaves its neighbours alone.
#pragma once
#include <optional>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/sqlite/ledger.hpp"
#include "store/sqlite/record_table.hpp"

namespace onceguard::sqlite {

/// Begun by its owner, who also commits it. Failures of SQLite are thrown.
class transaction {
 public:
  /// `token_floor`: the last token that this process ever gave.
  transaction(ledger& books, record_table& table, token token_floor);

  result<verdict> apply(const claim& asked);
  result<settled> apply(const settlement& how);
  result<bool> apply(const extension& how);
  result<resolve_decision> apply(const resolution& how);
  result<adopt_outcome> apply(const adoption& what);
  [[nodiscard]] std::size_t sweep(std::size_t most);

  /// Before the commit: writes the counters once for all leases that were granted.
  void finish();
  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; }
  [[nodiscard]] token last_token() const noexcept { return meta_ ? meta_->last_token : 0; }

 private:
  void write(const record_id& id, const std::optional<stored_row>& old, const record& stored);
  meta& counters();

  ledger& books_;
  record_table& table_;
  const token token_floor_;
  const moment at_;
  std::optional<meta> meta_;
  bool meta_changed_ = false;
  std::uint64_t writes_ = 0;
};

}  // namespace onceguard::sqlite
