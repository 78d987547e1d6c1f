#include <array>
#include <fstream>
#include <iterator>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "consume/receiver.hpp"
#include "text/json_text.hpp"

namespace onceguard::consume {

result<std::string> read_secret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(errc::invalid_argument, path + ": can't be opened");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  constexpr std::string_view mark = "whsec_";
  if (text.starts_with(mark)) {
    auto decoded = from_base64(std::string_view(text).substr(mark.size()));
    if (!decoded) return error(errc::invalid_argument, path + ": expected base64 behind whsec_");
    text = *std::move(decoded);
  }
  if (text.empty()) return error(errc::invalid_argument, path + ": holds no secret");
  return text;
}

std::string signature_of(std::string_view secret, std::string_view id, std::int64_t timestamp,
                         std::string_view payload) {
  std::string content(id);
  content.append(".").append(std::to_string(timestamp)).append(".").append(payload);
  std::array<unsigned char, EVP_MAX_MD_SIZE> made{};
  unsigned int size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(content.data()), content.size(), made.data(), &size);
  return "v1," + base64({reinterpret_cast<const char*>(made.data()), size});
}

}  // namespace onceguard::consume
