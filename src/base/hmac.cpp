#include "base/hmac.hpp"

#include <stdexcept>

#include <openssl/evp.h>

namespace onceguard::base {

std::array<unsigned char, 32> hmac_sha256(std::string_view secret, std::string_view text) {
  std::array<unsigned char, 32> out{};
  std::size_t size = 0;
  const auto* made = EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, secret.data(),
                               secret.size(), reinterpret_cast<const unsigned char*>(text.data()),
                               text.size(), out.data(), out.size(), &size);
  if (made == nullptr || size != out.size()) throw std::runtime_error("OpenSSL made no HMAC");
  return out;
}

}  // namespace onceguard::base
