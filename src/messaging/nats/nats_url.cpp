#include "messaging/nats/nats_url.hpp"

#include <algorithm>
#include <arpa/inet.h>

#include "base/value_text.hpp"
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

error wrong(std::string_view kind, std::string_view text) {
  return {errc::invalid_argument,
          "the broker's URL: " + base::quoted(text) + " is no " + std::string(kind)};
}

}  // namespace

namespace {

error wrong_login(const std::string& description) {
  return {errc::invalid_argument, "the broker's URL: " + description};
}

/// A file that a parameter names; empty: none.
result<std::string> file_of(const broker_url& url, std::string_view name) {
  const auto* const value = url.parameter(name);
  if (value == nullptr) return std::string();
  if (value->empty()) return wrong_login("the parameter " + std::string(name) + " is empty");
  return *value;
}

result<void> read_login(nats_url& out) {
  auto credentials = file_of(out.url, "credentials");
  if (!credentials) return credentials.error();
  auto nkey = file_of(out.url, "nkey");
  if (!nkey) return nkey.error();
  out.credentials = *std::move(credentials);
  out.nkey = *std::move(nkey);
  const int ways =
      (out.url.login ? 1 : 0) + (out.credentials.empty() ? 0 : 1) + (out.nkey.empty() ? 0 : 1);
  if (ways > 1) return wrong_login("user:password@, credentials and nkey: one of them at most");
  return {};
}

result<void> check_names(const broker_url& url, broker_role role) {
  if (role == broker_role::publisher) {
    if (!is_subject(url.segments[0])) return wrong("subject of a message", url.segments[0]);
    return {};
  }
  if (!is_token(url.segments[0])) return wrong("name of a stream", url.segments[0]);
  if (!is_token(url.segments[1])) return wrong("name of a consumer", url.segments[1]);
  return {};
}

}  // namespace

result<nats_url> read_nats_url(std::string_view text, broker_role role) {
  const bool consumes = role == broker_role::consumer;
  const std::size_t parts = consumes ? 2 : 1;
  auto url = parse_broker_url(text, {usual_port, parts, parts, known_parameters,
                                     consumes ? consumer_example : publisher_example});
  if (!url) return url.error();
  nats_url out{*std::move(url), {}, {}, {}};
  if (auto named = check_names(out.url, role); !named) return named.error();
  auto tls = read_tls(out.url, out.url.scheme == "nats+tls");
  if (!tls) return tls.error();
  out.tls = *std::move(tls);
  if (auto login = read_login(out); !login) return login.error();
  // libnats compares names of hosts alone.
  if (out.tls && out.tls->name.empty() && is_address(out.url.host)) {
    return wrong_login(
        "with an address as the host, tls_name=NAME says whose certificate is meant");
  }
  return out;
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
