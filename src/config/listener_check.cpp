#include "config/listener_check.hpp"

#include <string>

#include "base/clock.hpp"

namespace onceguard::config {
namespace {

/// Of one table.
class checker {
 public:
  checker(std::string_view table, const option_origins& where, remarks& out)
      : table_(table), where_(where), out_(out) {}

  [[nodiscard]] bool is_set(std::string_view option) const {
    const auto found = where_.find(option);
    return found != where_.end() && found->second.where != layer::fallback;
  }
  void say(remark::grade weight, std::string_view option, const std::string& description) {
    const auto found = where_.find(option);
    out_.push_back({weight, found == where_.end() ? origin{} : found->second,
                    table_ + " " + std::string(option) + ": " + description});
  }
  void fault(std::string_view option, const std::string& description) {
    say(remark::grade::fault, option, description);
  }

 private:
  const std::string table_;
  const option_origins& where_;
  remarks& out_;
};

}  // namespace

void check_listener_tls(const tls::server_files& files, std::string_view table,
                        const option_origins& where, remarks& out) {
  checker check(table, where, out);
  if (files.certificate.empty()) {
    for (const auto* option : {"tls_key", "tls_client_ca", "tls_client_name"}) {
      if (check.is_set(option)) check.fault(option, "only with tls_certificate");
    }
    return;
  }
  if (files.key.empty()) return check.fault("tls_certificate", "needs tls_key");
  if (const auto made = tls::make_server_context(files); !made) {
    return check.fault("tls_certificate", made.error().detail);
  }
  const auto end = tls::end_of_certificate(files.certificate);
  if (end && *end < base::system_clock().wall_ms() / 1'000) {
    check.say(remark::grade::warning, "tls_certificate", "has expired; clients will refuse it");
  }
}

void check_serve(const settings& made, const option_origins& where, remarks& out) {
  const auto& serve = made.serve;
  checker check("[serve]", where, out);
  check_listener_tls({serve.tls_certificate, serve.tls_key, serve.tls_client_ca}, "[serve]", where,
                     out);
  if (!serve.enabled) return;
  if (serve.listen.is_socket()) {
    if ((serve.mode & 06) != 0 && serve.token_file.empty()) {
      check.say(remark::grade::warning, "mode",
                "every user of this machine may claim and settle; a group (0660) or token_file "
                "keeps them out");
    }
    return;
  }
  if (check.is_set("mode")) check.say(remark::grade::warning, "mode", "only for a Unix socket");
  if (serve.listen.is_local()) return;
  const auto reached = serve.listen.text() + " can be reached from other machines, and needs ";
  if (serve.token_file.empty() && serve.tls_client_ca.empty()) {
    check.fault("listen", reached + "token_file, or tls_client_ca");
  }
  if (serve.tls_certificate.empty()) check.fault("listen", reached + "tls_certificate");
}

}  // namespace onceguard::config
