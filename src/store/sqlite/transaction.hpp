// The work of one durable commit: each item is one SELECT, the pure decision, and at most one
// write.
#pragma once
#include <optional>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/sqlite/damaged_records.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/record_table.hpp"

namespace onceguard::sqlite {

/// Encodes, before the item's turn, what can be encoded of the record that the item will write.
[[nodiscard]] inline encoded_parts parts_of(const claim& request) {
  return encoded_parts(request.about);
}
[[nodiscard]] inline encoded_parts parts_of(const settlement& request) {
  return encoded_parts(request.about, request.answer);
}
template <class Item>
[[nodiscard]] encoded_parts parts_of(const Item&) {
  return {};
}

/// Finds replays and mismatches, which need no write, in a transaction that only reads. Any other
/// verdict may still change by the writes that are queued. Failures of SQLite are thrown.
class reading_pass {
 public:
  reading_pass(metadata_table& metadata, record_table& table)
      : table_(table), moment_(metadata.read_clocks()) {}
  /// Empty: the claim needs a transaction that writes.
  [[nodiscard]] std::optional<result<verdict>> apply(const claim& request,
                                                     const encoded_parts& parts);

 private:
  record_table& table_;
  const moment moment_;
};

/// The owner of this object begins the transaction and commits it. Failures of SQLite are thrown.
class transaction {
 public:
  /// `token_floor`: the last token that this process ever gave. `damaged`: records that must not be
  /// read; may be null.
  transaction(metadata_table& metadata, record_table& table, token token_floor,
              damaged_records* damaged = nullptr);

  result<verdict> apply(const claim& requested, const encoded_parts& parts = {});
  result<settled> apply(const settlement& request, const encoded_parts& parts = {});
  result<bool> apply(const extension& request, const encoded_parts& parts = {});
  result<resolve_decision> apply(const resolution& request, const encoded_parts& parts = {});
  result<import_outcome> apply(const imported_record& request, const encoded_parts& parts = {});
  [[nodiscard]] std::size_t sweep(std::size_t most);
  void probe_sweep(std::size_t most) { table_.probe_expired(moment_, most); }

  /// The counters as they are in the file now: from before this transaction, or after `finish()`
  /// as it wrote them.
  [[nodiscard]] const meta& stored() {
    counters();
    return stored_;
  }
  /// Call this before the commit: writes the counters once for all granted leases. Any other write
  /// raises the last token, so that no two states of a file have the same one.
  void finish();
  [[nodiscard]] std::uint64_t writes() const noexcept { return writes_; }
  [[nodiscard]] token last_token() const noexcept { return meta_ ? meta_->last_token : 0; }

 private:
  [[nodiscard]] result<std::optional<stored_row>> load(const record_id& id,
                                                       const encoded_parts& parts);
  [[nodiscard]] result<std::optional<stored_row>> load_unnoted(const record_id& id,
                                                               const encoded_parts& parts);
  resolve_decision replace_unreadable(const resolution& request);
  void write(const record_id& id, const std::optional<stored_row>& old, const record& stored,
             const encoded_parts& parts);
  meta& counters();

  metadata_table& metadata_;
  record_table& table_;
  const token token_floor_;
  const std::int64_t changes_before_;
  damaged_records* const damaged_;
  const moment moment_;
  std::optional<meta> meta_;
  meta stored_;  // as the file has it; empty until the counters are read
  std::uint64_t writes_ = 0;
};

}  // namespace onceguard::sqlite
