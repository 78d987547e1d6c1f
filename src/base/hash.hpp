// SHA-256 and SHA-1 of OpenSSL, and checksums.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// Bytes as what is hashed.
[[nodiscard]] inline std::string_view as_chars(std::span<const unsigned char> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace onceguard::base
