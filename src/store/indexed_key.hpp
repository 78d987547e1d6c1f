// What an index by key has of each record, in the stores that have one.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace onceguard {

/// An index has so many bytes of a key and of the length before it. Longer keys differ in their
/// records only.
inline constexpr std::size_t indexed_key_max = 64;
/// Where the name of the scope's kind, which stands before the key, is this long or longer, the
/// index has no key. Every search by key reads these records.
inline constexpr unsigned indexed_kind_max = 128;

/// The key behind its length, as in an encoded subject (docs/formats.md), cut to
/// `indexed_key_max`.
[[nodiscard]] std::string indexed_key(std::string_view key);

}  // namespace onceguard
