#include "messaging/broker_tls.hpp"

namespace onceguard::messaging {
namespace {

constexpr std::size_t older_at = 4;
/// The names of today, then those that some brokers' URLs had before.
constexpr std::array<std::string_view, 9> all_names{
    "tls_ca", "tls_certificate", "tls_key", "tls_name", "ca",
    "cert",   "certificate",     "key",     "verify"};

class tls_reader {
 public:
  tls_reader(const broker_url& url, bool older_names)
      : url_(url), names_(older_names ? all_names.size() : older_at) {}

  void check(bool encrypted) const {
    for (std::size_t i = 0; i < names_; ++i) {
      const auto* const value = url_.parameter(all_names[i]);
      if (value == nullptr) continue;
      const auto begin = "the parameter " + std::string(all_names[i]);
      if (!encrypted) refuse_url(begin + " is of TLS, and " + url_.scheme + ":// has none");
      if (value->empty()) refuse_url(begin + " is empty");
    }
  }

  /// The first that is given.
  [[nodiscard]] std::string text(std::initializer_list<std::string_view> names) const {
    for (const auto name : names) {
      if (names_ == older_at && !name.starts_with("tls_")) continue;
      if (const auto* const value = url_.parameter(name)) return *value;
    }
    return {};
  }

 private:
  const broker_url& url_;
  const std::size_t names_;  ///< how many of all_names
};

}  // namespace

std::optional<tls::client_files> read_tls(const broker_url& url, bool encrypted, bool older_names) {
  const tls_reader reader(url, older_names);
  reader.check(encrypted);
  std::optional<tls::client_files> out;
  if (!encrypted) return out;
  auto& files = out.emplace();
  files.ca = reader.text({"tls_ca", "ca"});
  files.certificate = reader.text({"tls_certificate", "cert", "certificate"});
  files.key = reader.text({"tls_key", "key"});
  files.name = reader.text({"tls_name"});
  if (older_names) files.verify = flag_of(url, "verify", true);
  if (files.certificate.empty() != files.key.empty()) {
    refuse_url("a certificate needs its key, and a key its certificate");
  }
  return out;
}

std::string files_fault(const std::optional<tls::client_files>& files) {
  if (!files) return {};
  const auto made = tls::make_client_context(*files, tls::protocol::other);
  return made ? std::string() : made.error().detail;
}

}  // namespace onceguard::messaging
