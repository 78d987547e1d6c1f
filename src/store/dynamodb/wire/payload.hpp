// The bytes of a record in its item: the record by record_codec, with points in time relative to
// the write where they are on the clock of leases, and what else belongs to it. docs/dynamodb.md
// has the bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::dynamodb {

/// The pieces of an answer that is too large for the record's item.
struct piece_set {
  std::uint64_t name = 0;   ///< random: no two answers have pieces of one name
  std::uint64_t count = 0;  ///< 0: the answer is in the record
  std::uint64_t size = 0;   ///< of the answer as it is stored
  std::uint64_t checksum = 0;
  friend bool operator==(const piece_set&, const piece_set&) = default;
};

/// Which state of which lease a record shows: no two writes of a record have the same.
struct lease_mark {
  onceguard::token token = 0;
  onceguard::claim_id claim_id{};
  std::uint64_t writes = 0;  ///< of the record: grows with each, over all its leases
  friend bool operator==(const lease_mark&, const lease_mark&) = default;
};
/// "TOKEN-CLAIM_ID-WRITES"
[[nodiscard]] std::string text_of(const lease_mark& mark);

struct stored_record {
  /// Of the clock of leases, its points in time are relative to the write: see dated().
  onceguard::record record;
  std::uint64_t first = 0;  ///< of its first claim, by which records are listed: microseconds
  std::uint64_t writes = 0;
  std::uint64_t body_size = 0;  ///< of the answer
  piece_set pieces;

  [[nodiscard]] lease_mark mark() const { return {record.token, record.claim_id, writes}; }
};

/// Points in time of the clock of leases become relative to `now`, which the record was decided
/// with, and the reverse: `written` is when the record was written, as far as that is known here.
/// @{
[[nodiscard]] record undated(record stored, const instant& now);
[[nodiscard]] record dated(record stored, std::int64_t written);
/// @}

[[nodiscard]] std::string encode_payload(const stored_record& stored);
/// errc::record_unreadable.
[[nodiscard]] result<stored_record> decode_payload(std::string_view bytes);

/// May the lease of the record run, or does the record wait for a time of that clock?
[[nodiscard]] bool waits(const record& stored) noexcept;
[[nodiscard]] bool is_unsettled(const record& stored) noexcept;

}  // namespace onceguard::dynamodb
