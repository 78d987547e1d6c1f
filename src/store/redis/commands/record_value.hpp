// The value of a record in Redis: a stamp that the script sets, the payload that the client makes,
// and the stamp again, so that damage to either shows. docs/redis.md has the bytes.
//
// The stamp is the server's clock at the write, in microseconds. Points in time that the write sets
// are relative to the stamp, as only the server knows when it writes. Others are by the server's
// clock. The token of a first claim is its stamp.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::redis {

/// The server's clock in microseconds.
using stamp = std::uint64_t;

using stamp_bytes = std::array<unsigned char, 8>;
/// Big-endian, and the reverse.
[[nodiscard]] stamp_bytes bytes_of(std::uint64_t value) noexcept;
[[nodiscard]] std::uint64_t number_of(std::string_view bytes) noexcept;

/// As the clock of leases and of retention.
[[nodiscard]] instant instant_of(stamp time) noexcept;
/// errc::record_unreadable: these are not the eight bytes of a stamp.
[[nodiscard]] result<stamp> read_stamp(std::string_view bytes);

struct stored_record {
  onceguard::record record;  ///< its points in time are by the server's clock
  stamp first = 0;           ///< of its first claim, by which records are listed
  stamp last = 0;            ///< of its last write
};

/// A record as a payload has it. `now` is what the record was decided with, `former` the record
/// that it replaces, or null: a point in time that both have is kept.
[[nodiscard]] record undated(record stored, const instant& now, const record* former);
/// The reverse, for a record that was written at this time. The token 0 stands for the stamp.
void date(record& undated, stamp written) noexcept;
/// `first` 0 stands for the stamp.
[[nodiscard]] std::string encode_payload(const record& undated, stamp first);
/// Where the byte of its state stands in a value.
inline constexpr std::size_t state_at = 9;
/// How a value begins, up to its claim id. No two writes of a record make values that begin alike.
[[nodiscard]] std::string_view beginning_of(std::string_view value);
/// The same for a payload, without the stamp before it.
[[nodiscard]] std::string_view lease_of(std::string_view payload);
[[nodiscard]] std::string beginning_of(stamp written, std::string_view lease);
/// For how long the value is kept from now on, in milliseconds; empty: until it is replaced.
[[nodiscard]] std::string life_of(const record& undated, const instant& now);

/// errc::record_unreadable.
[[nodiscard]] result<stored_record> decode_value(std::string_view value);

}  // namespace onceguard::redis
