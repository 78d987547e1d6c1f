#include "messaging/nats/nats_connection.hpp"

#include <algorithm>
#include <chrono>
#include <netdb.h>

#include "messaging/nats/nkey.hpp"

namespace onceguard::messaging::nats {
namespace {

using std::chrono::duration_cast;

/// libnats' own handler would write to the standard error stream. What matters is read from
/// natsConnection_GetLastError.
void keep_silent(natsConnection* /*connection*/, natsSubscription* /*subscription*/,
                 natsStatus /*status*/, void* /*closure*/) {}

/// Of the last call of this thread.
std::string words_of(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* const text = nats_GetLastError(&last);
  if (last != status || text == nullptr || *text == '\0') return natsStatus_GetText(status);
  // "(conn.c:2088): No server …"
  const std::string_view words = text;
  const auto begin = words.starts_with('(') ? words.find("): ") : words.npos;
  return std::string(begin == words.npos ? words : words.substr(begin + 3));
}

/// Why there is no connection. libnats tells no two reasons apart but a refused login.
std::string why_unreachable(natsStatus status, const nats_url& where) {
  if (status == NATS_CONNECTION_AUTH_FAILED) {
    if (!where.nkey.empty()) return "the server refuses the nkey: " + words_of(status);
    if (!where.credentials.empty())
      return "the server refuses the credentials: " + words_of(status);
    return "the user or the password is wrong: " + words_of(status);
  }
  // libnats tells no alert of TLS that comes behind the handshake, as this refusal does.
  if (status == NATS_PROTOCOL_ERROR && where.tls && where.tls->certificate.empty()) {
    return words_of(status) + ": does the server ask for a certificate (tls_certificate)?";
  }
  const auto& host = where.url.host;
  if (status != NATS_NO_SERVER) return words_of(status);
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found);
  if (failed != 0) return "the host's name has no address: " + std::string(::gai_strerror(failed));
  ::freeaddrinfo(found);
  return "the connection was refused, or not accepted in time";
}

/// That the server, or libnats in its place, answered with a refusal.
bool is_refusal(natsStatus status) {
  switch (status) {
    case NATS_ERR:
    case NATS_NOT_PERMITTED:
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_ARG:
    case NATS_MAX_PAYLOAD:
    case NATS_NO_SERVER_SUPPORT:
    case NATS_NO_RESPONDERS:
      return true;
    default:
      return false;
  }
}

std::string nats_address(const broker_url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  return "nats://" + (v6 ? "[" + url.host + "]" : url.host) + ':' + std::to_string(url.port);
}

natsStatus set_tls(natsOptions* options, const nats_url& where) {
  // Also in the clear: libnats goes over to TLS where the server asks for it.
  const auto& name = where.tls && !where.tls->name.empty() ? where.tls->name : where.url.host;
  auto status = natsOptions_SetExpectedHostname(options, name.c_str());
  if (!where.tls) return status;
  const auto set = [&status](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  const auto& files = *where.tls;
  set(natsOptions_SetSecure(options, true));
  if (!files.ca.empty()) set(natsOptions_LoadCATrustedCertificates(options, files.ca.c_str()));
  if (!files.certificate.empty()) {
    set(natsOptions_LoadCertificatesChain(options, files.certificate.c_str(), files.key.c_str()));
  }
  return status;
}

natsStatus set_login(natsOptions* options, const nats_url& where, const std::string& nkey) {
  if (!where.credentials.empty()) {
    return natsOptions_SetUserCredentialsFromFiles(options, where.credentials.c_str(), nullptr);
  }
  if (!nkey.empty()) {
    return natsOptions_SetNKeyFromSeed(options, nkey.c_str(), where.nkey.c_str());
  }
  if (!where.url.login) return NATS_OK;
  const auto& [user, password] = *where.url.login;
  return natsOptions_SetUserInfo(options, user.c_str(), password.c_str());
}

natsStatus set_options(natsOptions* options, const nats_url& where, const std::string& nkey,
                       const broker_params& params) {
  const auto timeout = params.timeout.count();
  auto status = NATS_OK;
  const auto set = [&status](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  const auto address = nats_address(where.url);
  set(natsOptions_SetURL(options, address.c_str()));
  set(set_login(options, where, nkey));
  set(set_tls(options, where));
  set(natsOptions_SetName(options, params.name.c_str()));
  set(natsOptions_SetTimeout(options, timeout));
  set(natsOptions_SetWriteDeadline(options, timeout));
  // libnats keeps what is published while it has no connection, and would send later what its
  // caller has given up, and perhaps published anew.
  set(natsOptions_SetAllowReconnect(options, false));
  set(natsOptions_SetIgnoreDiscoveredServers(options, true));
  // A call that only waits notices a server that hangs by these: the connection is closed at the
  // first ping to which the one before it has no answer.
  set(natsOptions_SetPingInterval(options, std::max<std::int64_t>(timeout / 2, 100)));
  set(natsOptions_SetMaxPingsOut(options, 1));
  // Each order waits for its answer: there is nothing to gather for one write.
  set(natsOptions_SetSendAsap(options, true));
  set(natsOptions_SetErrorHandler(options, keep_silent, nullptr));
  return status;
}

}  // namespace

std::int64_t remaining(time_point until) noexcept {
  const auto left = duration_cast<milliseconds>(until - base::boot_now()).count();
  return std::max<std::int64_t>(left, 1);
}

result<std::unique_ptr<connection>> connection::open(const nats_url& where,
                                                     const broker_params& params) {
  const auto& url = where.url;
  std::string nkey;
  if (auto fault = where.files_fault(); !fault.empty()) {
    return error(errc::invalid_argument, url.name() + ": " + fault);
  }
  if (!where.nkey.empty()) {
    const auto read = public_nkey_of(where.nkey);
    if (!read) return read.error();
    nkey = *read;
  }
  natsOptions* made = nullptr;
  auto status = natsOptions_Create(&made);
  const options_handle options(made);
  if (status == NATS_OK) status = set_options(options.get(), where, nkey, params);
  if (status != NATS_OK) {
    return error(errc::invalid_argument, url.name() + ": " + words_of(status));
  }
  natsConnection* opened = nullptr;
  status = natsConnection_Connect(&opened, options.get());
  if (status != NATS_OK) {
    return error(errc::broker_unreachable,
                 url.name() + ": can't connect: " + why_unreachable(status, where));
  }
  return std::unique_ptr<connection>(
      new connection(connection_handle(opened), url.name(), params.timeout));
}

std::optional<error> connection::broken() const {
  if (given_up_) return given_up_;
  if (!natsConnection_IsClosed(raw())) return std::nullopt;
  const char* why = nullptr;
  natsConnection_GetLastError(raw(), &why);
  return refusal(errc::broker_unreachable,
                 "the connection broke" +
                     (why != nullptr && *why != '\0' ? ": " + std::string(why) : std::string{}));
}

natsStatus connection::request(const std::string& subject, const std::string& body,
                               time_point until, message_handle& reply) const {
  natsMsg* got = nullptr;
  const auto status = natsConnection_Request(&got, raw(), subject.c_str(), body.data(),
                                             static_cast<int>(body.size()), remaining(until));
  reply.reset(got);
  return status;
}

error connection::failure(natsStatus status, std::string_view action, effect on_broker) {
  auto text = "can't " + std::string(action) + ": " + words_of(status);
  if (is_refusal(status)) return refusal(errc::conflict, text);
  auto code = errc::broker_unreachable;
  if (status == NATS_TIMEOUT) {
    text = "can't " + std::string(action) + ": no answer within " +
           std::to_string(timeout_.count()) + " ms";
    // The server tells of a permission that is missing apart from the request.
    const char* why = nullptr;
    const auto last = natsConnection_GetLastError(raw(), &why);
    if (last == NATS_NOT_PERMITTED) code = errc::conflict;
    if (last != NATS_OK && why != nullptr) text += ": " + std::string(why);
  }
  auto out = refusal(code, text);
  out.effect = on_broker;
  if (code == errc::broker_unreachable) give_up(out);
  return out;
}

error connection::refusal(errc code, std::string_view text) const {
  return {code, name_ + ": " + std::string(text)};
}

natsStatus inbox::subscribe(const connection& server, std::string_view below) {
  natsInbox* name = nullptr;
  auto status = natsInbox_Create(&name);
  name_.reset(name);
  natsSubscription* made = nullptr;
  if (status == NATS_OK) {
    const auto all = subject() + std::string(below);
    status = natsConnection_SubscribeSync(&made, server.raw(), all.c_str());
  }
  subscription_.reset(made);
  // The callers bound what is sent to them. libnats would drop what is above its usual limits.
  if (status == NATS_OK) status = natsSubscription_SetPendingLimits(made, -1, -1);
  return status;
}

natsStatus inbox::next(time_point until, message_handle& out) const {
  natsMsg* got = nullptr;
  const auto status = natsSubscription_NextMsg(&got, subscription_.get(), remaining(until));
  out.reset(status == NATS_OK ? got : nullptr);
  return status;
}

}  // namespace onceguard::messaging::nats
