#include "http1/start_line.hpp"

#include <algorithm>
#include <array>

#include <llhttp.h>

#include "base/ascii.hpp"
#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::http1 {

bool is_known_method(std::string_view method) noexcept {
#define ONCEGUARD_METHOD(number, name, text) std::string_view(#text),
  constexpr std::array all{HTTP_METHOD_MAP(ONCEGUARD_METHOD)};
#undef ONCEGUARD_METHOD
  // SOURCE belongs to Icecast; CONNECT opens a tunnel to any host.
  if (method == "SOURCE" || method == "CONNECT") return false;
  if (method == "QUERY") return true;  // RFC 10008, younger than llhttp
  return std::find(all.begin(), all.end(), method) != all.end();
}

namespace {

/// HTTP/1.0 and HTTP/1.1, in capitals.
std::optional<fault> check_version(std::string_view version) noexcept {
  if (version.size() != 8 || !version.starts_with("HTTP/") || !base::is_digit(version[5]) ||
      version[6] != '.' || !base::is_digit(version[7])) {
    return bad("The start line has no version of the form HTTP/1.1.");
  }
  if (version[5] != '1' || version[7] > '1') {
    return fault{505, "Only HTTP/1.1 and HTTP/1.0 are spoken here."};
  }
  return std::nullopt;
}

/// Visible ASCII. Clients never send a '#' to a server; some servers take '\' for '/'.
std::optional<fault> check_target_octets(std::string_view target) noexcept {
  for (const char c : target) {
    if (c == ' ' || c == '\t') {
      return bad("The request line must have exactly one space before and after its target.");
    }
    if (c == '#') return bad("The target has a fragment ('#').");
    if (c == '\\') return bad("The target has a backslash.");
    if (static_cast<unsigned char>(c) > 0x7e) return bad("The target has a byte outside ASCII.");
  }
  return std::nullopt;
}

std::optional<fault> check_target_form(std::string_view method, std::string_view target) noexcept {
  if (method == "CONNECT") {
    if (is_authority(target, true)) return std::nullopt;
    return bad("The target of CONNECT must be a host and a port.");
  }
  if (target.front() == '/') return std::nullopt;
  if (target == "*") {
    if (method == "OPTIONS") return std::nullopt;
    return bad("Only OPTIONS may have the target '*'.");
  }
  const auto authority = authority_of(target);
  if (!authority) return bad("The target must begin with '/' or be an http URL.");
  if (!is_authority(*authority)) return bad("The authority in the target is malformed.");
  return std::nullopt;
}

/// Whether `text` has only characters of an IPv6 address, without its brackets.
bool is_address_literal(std::string_view text) noexcept {
  return std::ranges::all_of(text,
                             [](char c) { return base::is_hex_digit(c) || c == ':' || c == '.'; });
}

bool is_port(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5) return false;
  unsigned port = 0;
  for (const char c : text) {
    if (!base::is_digit(c)) return false;
    port = port * 10 + static_cast<unsigned>(c - '0');
  }
  return port <= 65535;
}

}  // namespace

std::optional<fault> check_request_line(std::string_view line,
                                        std::size_t target_bytes_max) noexcept {
  if (line.empty()) return bad("There are empty lines before the request line.");
  const auto before_target = line.find(' ');
  const auto before_version = line.rfind(' ');
  const auto method = line.substr(0, before_target);
  if (!is_token(method)) return bad("The request line does not begin with a method.");
  if (before_target == before_version) {
    return bad("The request line must have a method, a target and a version.");
  }
  const auto target = line.substr(before_target + 1, before_version - before_target - 1);
  if (target.empty()) {
    return bad("The request line must have exactly one space before and after its target.");
  }
  if (auto found = check_version(line.substr(before_version + 1))) return found;
  if (target.size() > target_bytes_max) return fault{414, "The target is too long."};
  if (auto found = check_target_octets(target)) return found;
  return check_target_form(method, target);
}

std::optional<fault> check_status_line(std::string_view line) noexcept {
  const auto before_status = line.find(' ');
  if (auto found = check_version(line.substr(0, before_status))) return found;
  const auto rest = line.substr(before_status == line.npos ? line.size() : before_status + 1);
  const auto status = rest.substr(0, 3);
  // Many servers omit the space if there is no reason phrase, and all parsers agree about it.
  if (status.size() != 3 || !base::is_digit(status[1]) || !base::is_digit(status[2]) ||
      (rest.size() > 3 && rest[3] != ' ')) {
    return bad("The status line must have a version, three digits and a reason.");
  }
  if (status[0] < '1' || status[0] > '5') return bad("The status is not from 100 to 599.");
  return std::nullopt;
}

bool is_target(std::string_view text) noexcept {
  for (const char c : text) {
    if (c == ' ' || base::is_control(c)) return false;
  }
  return !text.empty();
}

bool is_authority(std::string_view text, bool port_required) noexcept {
  std::string_view host;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos || !is_address_literal(text.substr(1, close - 1))) return false;
    host = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  } else {
    host = text.substr(0, text.find(':'));
    if (!base::all_in(base::unreserved_octets, host)) return false;
    text.remove_prefix(host.size());
  }
  if (host.empty()) return false;
  if (text.empty()) return !port_required;
  if (text.front() != ':') return false;
  // RFC 3986 section 3.2.2 allows an empty port, which means the scheme's port.
  return text.size() == 1 ? !port_required : is_port(text.substr(1));
}

bool is_same_authority(std::string_view target, std::string_view host) noexcept {
  const auto authority = authority_of(target);
  if (!authority) return false;
  const std::string_view host_port =
      base::iequals(base::scheme_of(target), "https") ? ":443" : ":80";
  const auto bare = [host_port](std::string_view text) {
    if (text.ends_with(host_port)) text.remove_suffix(host_port.size());
    if (text.ends_with(':')) text.remove_suffix(1);
    return text;
  };
  return base::iequals(bare(*authority), bare(host));
}

std::optional<std::string_view> authority_of(std::string_view target) noexcept {
  if (target.starts_with('/')) return std::nullopt;  // the form of nearly all targets
  const auto url = base::split_url(target);
  const bool known = base::iequals(url.scheme, "http") || base::iequals(url.scheme, "https");
  return known ? url.authority : std::nullopt;
}

}  // namespace onceguard::http1
