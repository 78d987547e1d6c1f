// Bytes as hex digits.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace onceguard::base {

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);
/// The form of a digest in log lines and lists: its first 12 hex digits.
[[nodiscard]] std::string digest_text(std::span<const unsigned char> digest);
void append_hex(std::string& out, std::span<const unsigned char> bytes);
/// Reads exactly 2 × out.size() hex digits of either case. Returns false for other texts.
[[nodiscard]] bool from_hex(std::string_view text, std::span<unsigned char> out) noexcept;

}  // namespace onceguard::base
