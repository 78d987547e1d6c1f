#include "base/hash.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <pthread.h>
#include <stdexcept>
#include <sys/random.h>
#include <utility>

#include <openssl/evp.h>
#include <openssl/sha.h>

// Inlined: records are short, so a call into the shared library would cost too much.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace onceguard::base {
namespace {

std::atomic<unsigned> forks{0};

/// How many forks lead to this process: a forked process must not reuse its parent's random bytes.
unsigned forks_so_far() noexcept {
  static const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static_cast<void>(watched);
  return forks.load(std::memory_order_relaxed);
}

/// From the kernel, which never gives less than 256 bytes at a time.
void fill(std::span<unsigned char> out) {
  constexpr std::size_t most = 256;
  for (std::size_t done = 0; done < out.size();) {
    const auto got = ::getrandom(out.data() + done, std::min(out.size() - done, most), 0);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw std::runtime_error("the system has no random bytes");
    }
  }
}

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

void random_bytes(std::span<unsigned char> out) {
  // A buffer per thread: one call of the generator serves many claim ids.
  static thread_local std::array<unsigned char, 1024> reserve;
  static thread_local std::size_t used = reserve.size();
  static thread_local unsigned made_after = 0;
  if (const auto now = forks_so_far(); made_after != now) {
    made_after = now;
    used = reserve.size();
  }
  if (out.size() > reserve.size()) throw std::runtime_error("too many random bytes at once");
  if (out.size() > reserve.size() - used) {
    fill(reserve);
    used = 0;
  }
  for (auto& byte : out) {
    byte = reserve[used];
    reserve[used++] = 0;
  }
}

void append_hex(std::string& out, std::span<const unsigned char> bytes) {
  static constexpr auto pairs = [] {
    constexpr std::string_view digits = "0123456789abcdef";
    std::array<std::array<char, 2>, 256> made{};
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = {digits[i >> 4], digits[i & 15]};
    return made;
  }();
  const auto position = out.size();
  out.resize(position + 2 * bytes.size());
  char* target = out.data() + position;
  for (const auto byte : bytes) target = std::copy_n(pairs[byte].data(), 2, target);
}

std::string digest_text(std::span<const unsigned char> digest) {
  constexpr std::size_t shown = 6;
  return to_hex(digest.first(std::min(shown, digest.size())));
}

std::string to_hex(std::span<const unsigned char> bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

bool from_hex(std::string_view text, std::span<unsigned char> out) noexcept {
  if (text.size() != out.size() * 2) return false;
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

}  // namespace onceguard::base
