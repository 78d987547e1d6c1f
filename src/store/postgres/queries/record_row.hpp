// A record as a row of onceguard.records: fields that SQL decides by are columns, and the subject
// and the outcome are encoded and sealed. docs/formats.md has the bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "libpq/binary_format.hpp"

namespace onceguard::postgres {

/// Encodes and seals a part of the record: the seal shows damage, and a part of another record.
[[nodiscard]] std::string sealed_subject(const record_id& id, const claim_id& claim_id,
                                         const subject& about);
/// `kept`: null if no answer is stored.
[[nodiscard]] std::string sealed_outcome(const record_id& id, const claim_id& claim_id,
                                         answer_kept kept, const answer* stored_answer);

/// The flags in the column of that name. Stored: never renumber.
namespace row_flag {
inline constexpr std::int64_t by_operator = 1;
inline constexpr std::int64_t incident = 2;
inline constexpr std::int64_t maybe_repeated = 4;
inline constexpr std::int64_t earlier_unknown = 8;
inline constexpr std::int64_t by_application = 16;
}  // namespace row_flag

struct stored_record {
  onceguard::record record;
  token first = 0;                           ///< of its first claim, by which records are listed
  std::optional<recovery_point> recovery{};  ///< of work in steps
};

/// What was read of a record, or became of a write.
struct reading {
  bool written = false;                ///< what the request wanted was written; nothing was read
  onceguard::token token = 0;          ///< written, read: of the record
  std::int64_t leases = 0;             ///< with a lease: what the database counts now
  bool listened = false;               ///< written, and somebody wants to be notified
  std::int64_t now = 0;                ///< the database's clock
  std::string version;                 ///< of the row, for a write in its place; empty: no row
  bool cut = false;                    ///< a long outcome was left out: the record is to be read
  std::optional<stored_record> found;  ///< empty: no record, or an unreadable one
  std::optional<error> unreadable;

  [[nodiscard]] const record* record_found() const noexcept {
    return found ? &found->record : nullptr;
  }
};

[[nodiscard]] inline instant instant_of(std::int64_t now, bool expiry_paused) noexcept {
  instant out;
  out.lease = out.wall = now;
  out.expiry_paused = expiry_paused;
  return out;
}

/// The columns of a row that is read. Other columns may follow.
inline constexpr int row_columns = 22;
/// The id in a row, cut or padded if it has another length.
[[nodiscard]] record_id id_in(const rows& rows, int row);
/// The token of the record's first claim, also of a record that can't be read.
[[nodiscard]] std::int64_t first_in(const rows& rows, int row);
/// Of a row without a version, only the clock is read: there is no record.
[[nodiscard]] reading read_row(const rows& rows, int row);

/// A row that a batch of claims inserted.
struct granted_row {
  onceguard::claim_id claim_id{};
  onceguard::token token = 0;
  std::int64_t leases = 0;  ///< what the database counts now
};
/// None: the row stood there before.
[[nodiscard]] std::optional<granted_row> read_grant(const rows& rows, int row);

/// A row that is to be written.
struct row_to_write {
  onceguard::record record;
  token first = 0;           ///< 0: the record's token is the first
  std::string version;       ///< of the row that it replaces; empty: there must be none
  bool grants = false;       ///< gives a lease: the database makes the token
  bool forgets = false;      ///< counts an answer that the store forgets
  bool drops_steps = false;  ///< the steps of the former operation do not count any more
  std::optional<milliseconds> retention{};   ///< of the route; none: as it is
  std::optional<recovery_point> recovery{};  ///< of work in steps that is imported
};
/// Appends id, lock, version and the columns, in the order of statement::replace.
void write_row(parameters& out, const record_id& id, const row_to_write& row);

/// The number of a record's advisory lock.
[[nodiscard]] std::int64_t lock_of(const record_id& id) noexcept;

}  // namespace onceguard::postgres
