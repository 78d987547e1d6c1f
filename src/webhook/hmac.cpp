#include "webhook/hmac.hpp"

#include <array>
#include <fstream>

#include <openssl/evp.h>
#include <openssl/hmac.h>

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

result<std::string> decode_secret(std::string_view text, secret_form form) {
  constexpr std::string_view mark = "whsec_";
  if (form == secret_form::raw) return std::string(text);
  if (form == secret_form::whsec) {
    if (!text.starts_with(mark)) return error(errc::invalid_argument, "expected whsec_ and base64");
    text.remove_prefix(mark.size());
  }
  auto decoded = from_base64(text);
  if (!decoded) {
    return error(errc::invalid_argument,
                 form == secret_form::whsec ? "expected base64 behind whsec_" : "expected base64");
  }
  return *std::move(decoded);
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
