#include "config/endpoint_tls.hpp"

#include "base/clock.hpp"
#include "consume/signature.hpp"

namespace onceguard::config {

void check_endpoint_files(const endpoint_files& files, const origin& position,
                          std::string_view table, remarks& out) {
  const auto say = [&](remark::grade weight, const std::string& text) {
    out.push_back({weight, position, std::string(table) + ' ' + text});
  };
  const auto fault = [&](const std::string& text) { say(remark::grade::fault, text); };
  if (!files.secrets.empty()) {
    const auto read = consume::read_signing_secrets(files.secrets);
    if (!read) fault("secret_file: " + read.error().detail);
  }
  if (files.tls == tls::client_files()) return;
  if (!files.is_secure) return fault("tls_…: only with https:// in to");
  if (files.tls.certificate.empty() != files.tls.key.empty()) {
    return fault("tls_certificate and tls_key: both or neither");
  }
  const auto made = tls::make_client_context(files.tls);
  if (!made) return fault("tls_…: " + made.error().detail);
  if (files.tls.certificate.empty()) return;
  const auto end = tls::end_of_certificate(files.tls.certificate);
  if (end && *end < base::system_clock().wall_ms() / 1'000) {
    say(remark::grade::warning, "tls_certificate: has expired; the endpoint will refuse it");
  }
}

}  // namespace onceguard::config
