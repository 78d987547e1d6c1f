#include "webhook/hmac.hpp"

#include <array>
#include <fstream>
#include <span>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/hash.hpp"
#include "text/json_text.hpp"

namespace onceguard::webhook {

std::string hmac_of(hmac_hash hash, std::string_view secret, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned int size = 0;
  HMAC(hash == hmac_hash::sha1 ? EVP_sha1() : EVP_sha256(), secret.data(),
       static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), made.data(), &size);
  return {reinterpret_cast<const char*>(made.data()), size};
}

std::optional<std::string> from_hex(std::string_view text) {
  std::string out(text.size() / 2, 0);
  const std::span<unsigned char> bytes(reinterpret_cast<unsigned char*>(out.data()), out.size());
  if (text.size() % 2 != 0 || !base::from_hex(text, bytes)) return std::nullopt;
  return out;
}

result<std::string> decode_secret(std::string_view text, secret_form form) {
  constexpr std::string_view mark = "whsec_";
  const auto needed = [](std::optional<std::string> bytes,
                         const char* expected) -> result<std::string> {
    if (!bytes) return error(errc::invalid_argument, expected);
    return *std::move(bytes);
  };
  switch (form) {
    case secret_form::raw:
      return std::string(text);
    case secret_form::whsec:
      if (!text.starts_with(mark)) break;
      return needed(from_base64(text.substr(mark.size())), "expected base64 behind whsec_");
    case secret_form::base64:
      return needed(from_base64(text), "expected base64");
    case secret_form::hex:
      return needed(from_hex(text), "expected pairs of hex digits");
    case secret_form::pem:
      return error(errc::invalid_argument, "expected a secret, not a public key");
  }
  return error(errc::invalid_argument, "expected whsec_ and base64");
}

result<std::vector<std::string>> read_secrets(const std::string& path, secret_form form) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(errc::invalid_argument, path + ": can't be opened");
  std::vector<std::string> out;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    while (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    auto secret = decode_secret(line, form);
    if (!secret) {
      return error(errc::invalid_argument,
                   path + ": line " + std::to_string(number) + ": " + secret.error().detail);
    }
    if (secret->empty()) {
      return error(errc::invalid_argument,
                   path + ": line " + std::to_string(number) + ": an empty secret");
    }
    out.push_back(*std::move(secret));
  }
  if (file.bad()) return error(errc::invalid_argument, path + ": can't be read");
  if (out.empty()) return error(errc::invalid_argument, path + ": holds no secret");
  return out;
}

}  // namespace onceguard::webhook
