#include "base/base64.hpp"

#include <algorithm>

#include <openssl/evp.h>

#include "base/octets.hpp"

namespace onceguard::base {
namespace {

constexpr auto base64url_octets = class_of_alphanumerics_and("-_");

/// OpenSSL ignores white space around the text, misplaced padding and unused bits.
std::optional<std::string> decoded_base64(std::string_view text, std::size_t padding) {
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < static_cast<int>(padding)) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  auto out = decoded_base64(text, text.ends_with("==") ? 2 : text.ends_with('='));
  if (out && to_base64(*out) != text) return std::nullopt;
  return out;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.size() % 4 == 1 || !all_in(base64url_octets, text)) return std::nullopt;
  std::string standard(text);
  std::replace(standard.begin(), standard.end(), '-', '+');
  std::replace(standard.begin(), standard.end(), '_', '/');
  const auto padding = (4 - standard.size() % 4) % 4;
  standard.append(padding, '=');
  return decoded_base64(standard, padding);
}

}  // namespace onceguard::base
