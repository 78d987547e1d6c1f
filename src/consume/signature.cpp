#include <array>
#include <fstream>
#include <iterator>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "consume/receiver.hpp"

namespace onceguard::consume {
namespace {

std::string base64_of(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace

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
  return "v1," + base64_of({reinterpret_cast<const char*>(made.data()), size});
}

}  // namespace onceguard::consume
