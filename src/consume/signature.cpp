#include <fstream>
#include <iterator>

#include "consume/receiver.hpp"
#include "text/json_text.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::consume {

result<std::string> read_secret(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return error(errc::invalid_argument, path + ": can't be opened");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
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
