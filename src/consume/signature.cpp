#include "consume/signature.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/file_text.hpp"
#include "text/json_text.hpp"
#include "webhook/hmac.hpp"

namespace onceguard::consume {

result<std::vector<std::string>> read_signing_secrets(const std::string& path) {
  constexpr std::size_t size_max = 64u << 10;
  auto held = base::read_file(path, size_max);
  if (!held) return error(errc::invalid_argument, path + ": " + held.error().detail);
  if (held->starts_with("whsec_")) return webhook::read_secrets(path, webhook::secret_form::whsec);
  auto& text = *held;
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (base::trim(text).empty()) return error(errc::invalid_argument, path + ": holds no secret");
  return std::vector<std::string>{std::move(text)};
}

std::string signatures_of(std::span<const std::string> secrets, std::string_view id,
                          std::int64_t timestamp, std::string_view payload) {
  std::string content(id);
  content.append(".").append(std::to_string(timestamp)).append(".").append(payload);
  std::string out;
  for (const auto& secret : secrets) {
    if (!out.empty()) out += ' ';
    out += "v1," + base::to_base64(webhook::hmac_of(webhook::hmac_hash::sha256, secret, content));
  }
  return out;
}

}  // namespace onceguard::consume
