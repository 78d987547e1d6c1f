#include "base/field.hpp"
#include "base/file_text.hpp"
#include "consume/receiver.hpp"
#include "text/json_text.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::consume {

result<std::string> read_secret(const std::string& path) {
  constexpr std::size_t size_max = 64u << 10;
  auto held = base::read_file(path, size_max);
  if (!held) return error(errc::invalid_argument, path + ": " + held.error().detail);
  auto& text = *held;
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (base::trim(text).empty()) return error(errc::invalid_argument, path + ": holds no secret");
  using webhook::secret_form;
  const auto form = text.starts_with("whsec_") ? secret_form::whsec : secret_form::raw;
  auto secret = webhook::decode_secret(text, form);
  if (!secret) return error(errc::invalid_argument, path + ": " + secret.error().detail);
  if (secret->empty()) return error(errc::invalid_argument, path + ": holds no secret");
  return secret;
}

std::string signature_of(std::string_view secret, std::string_view id, std::int64_t timestamp,
                         std::string_view payload) {
  std::string content(id);
  content.append(".").append(std::to_string(timestamp)).append(".").append(payload);
  return "v1," + base64(webhook::hmac_of(webhook::hmac_hash::sha256, secret, content));
}

}  // namespace onceguard::consume
