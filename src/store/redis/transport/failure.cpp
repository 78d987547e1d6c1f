#include "store/redis/transport/failure.hpp"

#include <algorithm>
#include <array>

#include <boost/asio/ssl/error.hpp>

namespace onceguard::redis {
namespace {

template <std::size_t N>
bool is_one_of(const failure& failed, const std::array<std::string_view, N>& codes) noexcept {
  return std::find(codes.begin(), codes.end(), failed.code) != codes.end();
}

constexpr std::array<std::string_view, 4> refused{"NOAUTH", "WRONGPASS", "NOPERM", "NOPROTO"};
constexpr std::array<std::string_view, 2> damaged{"UNREADABLE", "WRONGTYPE"};
// Scripts that are missing after a flush or restart, or a server that is not a master.
constexpr std::array<std::string_view, 4> elsewhere{"NOSCRIPT", "READONLY", "LOADING",
                                                    "MASTERDOWN"};
constexpr std::array<std::string_view, 4> misplaced{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"};

/// Whether the server's access list forbids the command. For commands of a script the error does
/// not name the command.
bool is_forbidden(std::string_view text) noexcept {
  return text.starts_with("NOPERM") || text.find("can't run this command") != text.npos ||
         text.find("ACL failure in script") != text.npos;
}

}  // namespace

failure failure_of(std::string_view value) {
  failure out;
  out.code = value.substr(0, value.find(' '));
  out.text = value;
  if (value.starts_with("ERR Function not found")) out.code = "NOSCRIPT";
  if (is_forbidden(value)) {
    out.text += "; the user lacks a right: type the ACL SETUSER of docs/redis.md";
  }
  // "ERR invalid password", "ERR AUTH … called without any password configured".
  const bool by_auth = value.starts_with("ERR AUTH") || value.starts_with("ERR invalid password") ||
                       value.starts_with("ERR DB index is out of range");
  out.misconfigured = by_auth || is_one_of(out, refused);
  return out;
}

failure connection_failure(std::string text) { return {{}, std::move(text), false}; }

bool is_of_certificates(const boost::system::error_code& why) noexcept {
  if (why.category() != boost::asio::error::get_ssl_category()) return false;
  constexpr std::array<int, 8> reasons{
      SSL_R_CERTIFICATE_VERIFY_FAILED,       SSL_R_WRONG_VERSION_NUMBER,
      SSL_R_TLSV1_ALERT_UNKNOWN_CA,          SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
      SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,     SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
      SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN};
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(why.value()));
  return std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
}

remedy remedy_of(const failure& failed) noexcept {
  if (is_one_of(failed, misplaced)) return remedy::redirect;
  return is_one_of(failed, elsewhere) ? remedy::reconnect : remedy::none;
}

error to_error(const failure& failed, const std::string& name, effect on_store) {
  const auto detail = name + ": " + failed.text;
  if (failed.misconfigured) {
    error out(errc::invalid_argument, detail, on_store);
    out.lasting = true;
    return out;
  }
  if (failed.code == "OOM") return error(errc::store_full, detail, on_store);
  if (is_one_of(failed, damaged)) return error(errc::record_unreadable, detail, on_store);
  return error(errc::store_unreachable, detail, on_store);
}

}  // namespace onceguard::redis
