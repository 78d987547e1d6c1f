#include "messaging/nats/nkey.hpp"

#include <array>
#include <optional>
#include <string_view>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/ascii.hpp"
#include "base/file_text.hpp"
#include "base/unique_handle.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr std::size_t file_size_max = 64u << 10;
constexpr std::size_t seed_size = 32;
constexpr std::string_view base32_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr unsigned char user_prefix = 20 << 3;                 // "U"
constexpr std::array<unsigned char, 2> user_seed{0x95, 0x00};  // "SU": five bits, then the user's

error wrong_nkey(const std::string& file, std::string_view why) {
  return {errc::invalid_argument, file + ": " + std::string(why)};
}

/// CRC-16/XMODEM.
unsigned checksum_of(std::string_view bytes) {
  unsigned out = 0;
  for (const char byte : bytes) {
    out ^= static_cast<unsigned>(static_cast<unsigned char>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) out = (out & 0x8000) != 0 ? (out << 1) ^ 0x1021 : out << 1;
    out &= 0xffff;
  }
  return out;
}

std::optional<std::string> base32_decoded(std::string_view text) {
  std::string out;
  unsigned held = 0;
  int bits = 0;
  for (const char c : text) {
    const auto digit = base32_digits.find(c);
    if (digit == base32_digits.npos) return std::nullopt;
    held = (held << 5 | static_cast<unsigned>(digit)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(held >> bits & 0xff);
  }
  return out;
}

std::string base32_of(std::string_view bytes) {
  std::string out;
  unsigned held = 0;
  int bits = 0;
  for (const char byte : bytes) {
    held = (held << 8 | static_cast<unsigned char>(byte)) & 0xfff;
    for (bits += 8; bits >= 5;) {
      bits -= 5;
      out += base32_digits[held >> bits & 0x1f];
    }
  }
  if (bits > 0) out += base32_digits[held << (5 - bits) & 0x1f];
  return out;
}

void append_checksum(std::string& bytes) {
  const auto sum = checksum_of(bytes);
  bytes += static_cast<char>(sum & 0xff);
  bytes += static_cast<char>(sum >> 8);
}

/// The line that begins with "SU"; empty: there is none.
std::string_view seed_line(std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = base::trim(text.substr(0, end));
    if (line.starts_with("SU") && line.find_first_not_of(base32_digits) == line.npos) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

/// The 32 bytes of a user's seed.
std::optional<std::string> seed_of(std::string_view line) {
  auto bytes = base32_decoded(line);
  if (!bytes || bytes->size() != user_seed.size() + seed_size + 2) return std::nullopt;
  auto counted = bytes->substr(0, bytes->size() - 2);
  append_checksum(counted);
  const bool right = counted == *bytes;
  const bool of_user = static_cast<unsigned char>((*bytes)[0]) == user_seed[0] &&
                       static_cast<unsigned char>((*bytes)[1]) == user_seed[1];
  OPENSSL_cleanse(counted.data(), counted.size());
  std::optional<std::string> out;
  if (right && of_user) out = bytes->substr(user_seed.size(), seed_size);
  OPENSSL_cleanse(bytes->data(), bytes->size());
  return out;
}

std::optional<std::string> public_key_of(std::string_view seed) {
  const base::unique_handle<EVP_PKEY, EVP_PKEY_free> key(EVP_PKEY_new_raw_private_key(
      EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(seed.data()), seed.size()));
  std::array<unsigned char, 32> out{};
  auto size = out.size();
  if (!key || EVP_PKEY_get_raw_public_key(key.get(), out.data(), &size) != 1) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

result<std::string> text_of_file(const std::string& file) {
  auto text = base::read_file(file, file_size_max);
  if (!text) return wrong_nkey(file, text.error().detail);
  return text;
}

}  // namespace

result<std::string> public_nkey_of(const std::string& file) {
  auto text = text_of_file(file);
  if (!text) return text.error();
  const auto line = seed_line(*text);
  auto seed = line.empty() ? std::nullopt : seed_of(line);
  OPENSSL_cleanse(text->data(), text->size());
  if (!seed) return wrong_nkey(file, "holds no seed of a user (a line SU…)");
  const auto key = public_key_of(*seed);
  OPENSSL_cleanse(seed->data(), seed->size());
  if (!key) return wrong_nkey(file, "its seed makes no key");
  std::string out(1, static_cast<char>(user_prefix));
  out += *key;
  append_checksum(out);
  return base32_of(out);
}

std::string credentials_fault(const std::string& file) {
  auto text = text_of_file(file);
  if (!text) return text.error().detail;
  const bool has_token = text->find("BEGIN NATS USER JWT") != text->npos;
  const bool has_seed = !seed_line(*text).empty();
  OPENSSL_cleanse(text->data(), text->size());
  if (!has_token) return file + ": holds no user's JWT (-----BEGIN NATS USER JWT-----)";
  return has_seed ? std::string() : file + ": holds no seed of a user (a line SU…)";
}

}  // namespace onceguard::messaging::nats
