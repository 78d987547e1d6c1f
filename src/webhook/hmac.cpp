#include "webhook/hmac.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/file_text.hpp"
#include "base/hex.hpp"
#include "text/json_text.hpp"

namespace onceguard::webhook {

namespace {

constexpr std::size_t secrets_size_max = 64u << 10;

/// A line that is blank, or has a space at an end, is a slip: whoever knows it could sign.
result<std::string> secret_of_line(std::string_view line, secret_form form) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const auto refused = [](const char* why) { return error(errc::invalid_argument, why); };
  if (base::trim(line).empty()) return refused("a blank line, not a secret");
  if (base::trim(line) != line) return refused("begins or ends with a space");
  auto secret = decode_secret(line, form);
  if (secret && secret->empty()) return refused("an empty secret");
  return secret;
}

}  // namespace

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
      return needed(base::from_base64(text.substr(mark.size())), "expected base64 behind whsec_");
    case secret_form::base64:
      return needed(base::from_base64(text), "expected base64");
    case secret_form::hex:
      return needed(from_hex(text), "expected pairs of hex digits");
    case secret_form::pem:
      return error(errc::invalid_argument, "expected a secret, not a public key");
  }
  return error(errc::invalid_argument, "expected whsec_ and base64");
}

result<std::vector<std::string>> read_secrets(const std::string& path, secret_form form) {
  const auto held = base::read_file(path, secrets_size_max);
  if (!held) return error(errc::invalid_argument, path + ": " + held.error().detail);
  std::vector<std::string> out;
  std::string_view rest = *held;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto secret = secret_of_line(rest.substr(0, end), form);
    if (!secret) {
      return error(errc::invalid_argument,
                   path + ": line " + std::to_string(number) + ": " + secret.error().detail);
    }
    out.push_back(*std::move(secret));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (out.empty()) return error(errc::invalid_argument, path + ": holds no secret");
  return out;
}

}  // namespace onceguard::webhook
