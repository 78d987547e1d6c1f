#include "base/hash.hpp"

#include <stdexcept>
#include <utility>

#include <openssl/evp.h>
#include <openssl/sha.h>

// Inlined: records are short, so a call into the shared library would cost too much.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onceguard::base {
namespace {

SHA256_CTX& here() {
  static thread_local SHA256_CTX it;
  return it;
}

}  // namespace

// The functions for SHA-256 alone: to fetch it through EVP loads providers and their configuration,
// which takes a program that only runs for a moment longer than all its own work. OpenSSL would
// have everybody use EVP.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

sha256::sha256() {
  if (SHA256_Init(&here()) != 1) throw std::runtime_error("SHA-256 could not be begun");
}

void sha256::send(std::string_view bytes) {
  if (bytes.empty()) return;
  if (SHA256_Update(&here(), bytes.data(), bytes.size()) != 1) {
    throw std::runtime_error("SHA-256 could not go on");
  }
}

std::array<unsigned char, 32> sha256::finish() {
  send({kept_.data(), std::exchange(used_, 0)});
  std::array<unsigned char, 32> out{};
  if (SHA256_Final(out.data(), &here()) != 1) {
    throw std::runtime_error("SHA-256 could not be ended");
  }
  return out;
}

#pragma GCC diagnostic pop

sha256& sha256::raw(std::string_view bytes) {
  if (bytes.size() > kept_.size() - used_) {
    send({kept_.data(), std::exchange(used_, 0)});
    if (bytes.size() > kept_.size()) {
      send(bytes);
      return *this;
    }
  }
  used_ += bytes.copy(kept_.data() + used_, bytes.size());
  return *this;
}

sha256& sha256::part(std::string_view bytes) {
  std::array<char, 8> length{};
  auto size = static_cast<std::uint64_t>(bytes.size());
  for (auto& c : length) {
    c = static_cast<char>(size & 0xff);
    size >>= 8;
  }
  raw({length.data(), length.size()});
  return raw(bytes);
}

std::array<unsigned char, 32> sha256_of(std::string_view bytes) {
  return sha256().raw(bytes).finish();
}

std::array<unsigned char, 20> sha1_of(std::string_view bytes) {
  std::array<unsigned char, 20> out{};
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error("SHA-1 could not be made");
  }
  return out;
}

std::uint64_t checksum_of(std::string_view bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace onceguard::base
