#include "messaging/nats/nats_url.hpp"

#include <algorithm>
#include <arpa/inet.h>

#include "base/value_text.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/nats/nkey.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr std::uint16_t usual_port = 4222;
constexpr auto known_parameters = with_tls(std::array<std::string_view, 2>{"credentials", "nkey"});

bool is_address(const std::string& host) {
  in6_addr out{};
  return ::inet_pton(AF_INET, host.c_str(), &out) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &out) == 1;
}

bool has_white(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

/// One part of a subject, as the names of streams and consumers are.
bool is_token(std::string_view text) {
  return !text.empty() && !has_white(text) && text.find_first_of(".*>/\\") == text.npos;
}

/// Without wildcards.
bool is_subject(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    const auto token = text.substr(0, dot);
    if (token.empty() || has_white(token) || token == "*" || token == ">") return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

void check_name(bool (*is_right)(std::string_view), std::string_view noun, std::string_view name) {
  if (!is_right(name)) refuse_url(base::quoted(name) + " is no " + std::string(noun));
}

void read_login(nats_url& out) {
  out.credentials = text_of(out.url, "credentials");
  out.nkey = text_of(out.url, "nkey");
  const int ways =
      (out.url.login ? 1 : 0) + (out.credentials.empty() ? 0 : 1) + (out.nkey.empty() ? 0 : 1);
  if (ways > 1) refuse_url("user:password@, credentials and nkey: one of them at most");
}

nats_url nats_url_of(std::string_view text, broker_role role) {
  const bool consumes = role == broker_role::consumer;
  const std::size_t parts = consumes ? 2 : 1;
  nats_url out;
  out.url = value_of(parse_broker_url(text, {usual_port, parts, parts, known_parameters,
                                             consumes ? consumer_example : publisher_example}));
  const auto& names = out.url.segments;
  if (consumes) {
    check_name(is_token, "name of a stream", names[0]);
    check_name(is_token, "name of a consumer", names[1]);
  } else {
    check_name(is_subject, "subject of a message", names[0]);
  }
  out.tls = read_tls(out.url, out.url.scheme == "nats+tls");
  read_login(out);
  // libnats compares names of hosts alone.
  if (out.tls && out.tls->name.empty() && is_address(out.url.host)) {
    refuse_url("with an address as the host, tls_name=NAME says whose certificate is meant");
  }
  return out;
}

}  // namespace

result<nats_url> read_nats_url(std::string_view text, broker_role role) {
  return caught([&] { return nats_url_of(text, role); });
}

std::string nats_url::files_fault() const {
  auto fault = messaging::files_fault(tls);
  if (fault.empty() && !credentials.empty()) fault = credentials_fault(credentials);
  if (fault.empty() && !nkey.empty()) {
    const auto read = public_nkey_of(nkey);
    if (!read) fault = read.error().detail;
  }
  return fault;
}

}  // namespace onceguard::messaging::nats
