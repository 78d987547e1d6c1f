// Parses the value of the Idempotency-Key header field.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>

namespace onceguard {
inline namespace v1 {

inline constexpr std::size_t key_size_max = 255;  ///< bytes after parsing; inclusive

/// How a key may be written.
enum class key_syntax : std::uint8_t {
  lenient,  ///< an RFC 8941 String, or a bare value as most clients send it
  strict,   ///< an RFC 8941 String only
};
/// What a key may be.
enum class key_format : std::uint8_t {
  any,   ///< any text of 1 to `key_size_max` bytes
  uuid,  ///< a UUID: see is_uuid
};

/// Parses one field value: an RFC 8941 section 3.3.3 String, whose well-formed parameters are
/// allowed and ignored, or (lenient) a bare value of letters, digits and -._~:/+=@!$&'()*%#^|
/// Optional white space around the value is not part of the key. `"abc"` and `abc` are the same
/// key.
/// @return the key's bytes, or errc::invalid_argument with a detail that names the error and its
///   byte position (counted from 1). The detail never contains the value.
[[nodiscard]] result<std::string> parse_key(std::string_view field_value,
                                            key_syntax syntax = key_syntax::lenient,
                                            key_format format = key_format::any);

/// Whether `text` is a UUID in the 8-4-4-4-12 form (RFC 9562), of any version, in either case.
[[nodiscard]] bool is_uuid(std::string_view text) noexcept;

}  // namespace v1
}  // namespace onceguard
