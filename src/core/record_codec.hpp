// The stored form of a record: docs/formats.md has its bytes.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// What this version writes, and the newest that it reads. Format 1 differs in its checksum only.
inline constexpr unsigned char record_format = 2;

/// Never fails; the same record always gives the same bytes. Thread-safe.
[[nodiscard]] std::string encode_record(const record& stored);

/// The reverse. errc::record_unreadable, with a detail that says which, for a newer format, a cut
/// or damaged record (any flipped bit), and a value that no version ever wrote. Thread-safe.
[[nodiscard]] result<record> decode_record(std::string_view bytes);

}  // namespace onceguard
