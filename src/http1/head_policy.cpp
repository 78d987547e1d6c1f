#include "http1/head_policy.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <llhttp.h>

#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::http1 {
namespace {

/// The contents of the fields that determine the framing.
struct framing {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool close = false;
  bool keep_alive = false;
  bool upgrade_option = false;  ///< Connection: upgrade
  bool upgrade_field = false;
  bool expect_continue = false;
  const base::field* host = nullptr;
};

bool parse_length(std::string_view text, std::uint64_t& length) noexcept {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return false;
  length = 0;
  for (const char c : text) {
    if (!base::is_digit(c)) return false;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (length > (most - digit) / 10) return false;
    length = length * 10 + digit;
  }
  return true;
}

std::optional<fault> take_length(framing& found, std::string_view value) noexcept {
  std::uint64_t length = 0;
  if (!parse_length(value, length)) {
    return bad("Content-Length is not a decimal number, or too large.");
  }
  // Equal ones, too: RFC 9112 section 6.3 lets a reader merge them, and not every reader does.
  if (found.length) return bad("Content-Length is there more than once.");
  found.length = length;
  return std::nullopt;
}

bool resembles_chunked(std::string_view coding) noexcept {
  constexpr std::string_view name = "chunked";
  for (; coding.size() >= name.size(); coding.remove_prefix(1)) {
    if (base::iequals(coding.substr(0, name.size()), name)) return true;
  }
  return false;
}

/// Whether `value` holds only well-formed codings, optionally followed by "chunked". Malformed
/// codings, and codings that resemble "chunked", may be an attack on a parser behind this one.
bool is_unknown_coding(std::string_view value) noexcept {
  for (;;) {
    const auto comma = value.find(',');
    const auto coding = base::trim(value.substr(0, comma));
    if (!is_token(coding) || base::iequals(coding, "identity")) return false;
    const bool last = comma == value.npos;
    if (base::iequals(coding, "chunked")) return last;
    if (resembles_chunked(coding)) return false;
    if (last) return true;
    value.remove_prefix(comma + 1);
  }
}

std::optional<fault> take_coding(framing& found, std::string_view value) noexcept {
  if (found.chunked) return bad("Transfer-Encoding is there more than once.");
  if (!base::iequals(value, "chunked")) {
    if (is_unknown_coding(value))
      return fault{501, "A transfer coding but 'chunked' is not known."};
    return bad("Transfer-Encoding is not exactly 'chunked'.");
  }
  found.chunked = true;
  return std::nullopt;
}

std::optional<fault> take_host(framing& found, const base::field& field) noexcept {
  if (found.host != nullptr) return bad("Host is there more than once.");
  if (!is_authority(field.value)) return bad("Host is not a host name with an optional port.");
  found.host = &field;
  return std::nullopt;
}

void take_connection(framing& found, std::string_view value) noexcept {
  base::each_list_element(value, [&](std::string_view option) {
    if (base::iequals(option, "close")) found.close = true;
    if (base::iequals(option, "keep-alive")) found.keep_alive = true;
    if (base::iequals(option, "upgrade")) found.upgrade_option = true;
  });
}

/// The length of the name rules out nearly all fields that are irrelevant here.
std::optional<fault> take_field(framing& found, const base::field& field, bool request) noexcept {
  switch (field.name.size()) {
    case 4:
      if (request && base::iequals(field.name, "host")) return take_host(found, field);
      break;
    case 6:
      if (request && base::iequals(field.name, "expect")) {
        base::each_list_element(field.value, [&](std::string_view expectation) {
          if (base::iequals(expectation, "100-continue")) found.expect_continue = true;
        });
      }
      break;
    case 7:
      if (base::iequals(field.name, "upgrade")) found.upgrade_field = true;
      break;
    case 10:
      if (base::iequals(field.name, "connection")) take_connection(found, field.value);
      break;
    case 14:
      if (base::iequals(field.name, "content-length")) return take_length(found, field.value);
      break;
    case 17:
      if (base::iequals(field.name, "transfer-encoding")) return take_coding(found, field.value);
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::optional<fault> take_fields(framing& found, const head& parsed, bool request) noexcept {
  for (const auto& field : parsed.fields) {
    if (auto fault = take_field(found, field, request)) return fault;
  }
  // RFC 9112 sections 6.1 and 6.3: either of the two may be an attempt to smuggle a request.
  if (found.chunked && parsed.minor == 0) return bad("HTTP/1.0 has no Transfer-Encoding.");
  if (found.chunked && found.length) {
    return bad("Content-Length stands beside Transfer-Encoding.");
  }
  return std::nullopt;
}

/// RFC 9112 section 9.3.
bool keeps_alive(const framing& found, std::uint8_t minor) noexcept {
  return !found.close && (minor == 1 || found.keep_alive);
}

void set_body(head& parsed, const framing& found) noexcept {
  if (found.chunked) {
    parsed.body = body_kind::chunked;
  } else if (found.length.value_or(0) != 0) {
    parsed.body = body_kind::sized;
  } else {
    parsed.body = body_kind::none;
  }
}

}  // namespace

std::optional<fault> check_request(head& parsed) noexcept {
  framing found;
  if (auto fault = take_fields(found, parsed, true)) return fault;
  if (found.host == nullptr && parsed.minor == 1) return bad("Host is missing.");
  const auto authority = authority_of(parsed.target);
  if (authority && found.host != nullptr && !is_same_authority(parsed.target, found.host->value)) {
    return bad("Host differs from the authority in the target.");
  }
  const bool connect = parsed.method == "CONNECT";
  if (connect && (found.chunked || found.length)) return bad("CONNECT has no body.");
  parsed.content_length = found.length;
  parsed.keep_alive = keeps_alive(found, parsed.minor);
  parsed.expect_continue = found.expect_continue && parsed.minor == 1;
  parsed.upgrade = connect || (parsed.minor == 1 && found.upgrade_option && found.upgrade_field);
  set_body(parsed, found);
  return std::nullopt;
}

std::optional<fault> check_answer(head& parsed, request_kind request) noexcept {
  framing found;
  if (auto fault = take_fields(found, parsed, false)) return fault;
  const bool interim = parsed.status < 200;
  const bool tunnel = request == request_kind::connect && parsed.status / 100 == 2;
  parsed.content_length = found.length;
  parsed.upgrade = parsed.status == 101 || tunnel;
  parsed.keep_alive = keeps_alive(found, parsed.minor) && !parsed.upgrade;
  if (interim || tunnel || parsed.status == 204) {
    // These answers have no body and must not announce one. If one does, the next message's
    // beginning is uncertain.
    parsed.body = body_kind::none;
    if (found.chunked || found.length.value_or(0) != 0) parsed.keep_alive = false;
  } else if (request == request_kind::head || parsed.status == 304) {
    parsed.body = body_kind::none;
  } else if (found.chunked || found.length) {
    set_body(parsed, found);
  } else {
    parsed.body = body_kind::until_eof;
    parsed.keep_alive = false;
  }
  return std::nullopt;
}

std::optional<fault> check_chunk_line(std::string_view line) noexcept {
  std::size_t digits = 0;
  while (digits < line.size() && base::is_hex_digit(line[digits])) ++digits;
  if (digits == 0 || digits > 16 || (digits < line.size() && line[digits] != ';')) {
    return bad("A chunk's size is not a hexadecimal number, or too large.");
  }
  if (!is_field_value(line.substr(digits))) {
    return bad("A chunk's extension has a control character in it.");
  }
  return std::nullopt;
}

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
