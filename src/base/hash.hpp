// SHA-256, SHA-1, checksums, random bytes and hex digits. Hashes come from OpenSSL, random bytes
// from the kernel.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace onceguard::base {

/// SHA-256 over parts. `part` puts the length (8 bytes, little endian) before the bytes, so that
/// different lists of parts are hashed as different texts. Uses one shared context per thread:
/// finish one hash before beginning another on the same thread.
class sha256 {
 public:
  sha256();
  sha256& part(std::string_view bytes);
  sha256& raw(std::string_view bytes);
  [[nodiscard]] std::array<unsigned char, 32> finish();

 private:
  void send(std::string_view bytes);

  // Small parts are collected: a call of OpenSSL costs more than hashing a small part.
  std::array<char, 512> kept_;
  std::size_t used_ = 0;
};

/// SHA-256 of the bytes, without a length.
[[nodiscard]] std::array<unsigned char, 32> sha256_of(std::string_view bytes);
/// SHA-1, only to detect damage where another program can compute nothing better.
[[nodiscard]] std::array<unsigned char, 20> sha1_of(std::string_view bytes);

/// XXH3 of 64 bits with seed 0 (https://xxhash.com): the same on every machine. Detects accidental
/// damage only: an attacker can make another text with the same checksum. Thread-safe.
[[nodiscard]] std::uint64_t checksum_of(std::string_view bytes) noexcept;

/// Fills `out` with cryptographically strong random bytes. Throws std::runtime_error when the
/// system has none, which is not recoverable.
void random_bytes(std::span<unsigned char> out);

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);
/// The form of a digest in log lines and lists: its first 12 hex digits.
[[nodiscard]] std::string digest_text(std::span<const unsigned char> digest);
void append_hex(std::string& out, std::span<const unsigned char> bytes);
/// Reads exactly 2 × out.size() hex digits of either case. Returns false for other texts.
[[nodiscard]] bool from_hex(std::string_view text, std::span<unsigned char> out) noexcept;

[[nodiscard]] inline std::string_view as_chars(std::span<const unsigned char> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace onceguard::base
