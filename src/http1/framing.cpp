#include "http1/framing.hpp"

#include <limits>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/octets.hpp"

namespace onceguard::http1 {
namespace {

/// The contents of the fields that determine the framing.
struct framing_fields {
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

std::optional<fault> take_length(framing_fields& found, std::string_view value) noexcept {
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

std::optional<fault> take_coding(framing_fields& found, std::string_view value) noexcept {
  if (found.chunked) return bad("Transfer-Encoding is there more than once.");
  if (!base::iequals(value, "chunked")) {
    if (is_unknown_coding(value))
      return fault{501, "A transfer coding but 'chunked' is not known."};
    return bad("Transfer-Encoding is not exactly 'chunked'.");
  }
  found.chunked = true;
  return std::nullopt;
}

std::optional<fault> take_host(framing_fields& found, const base::field& field) noexcept {
  if (found.host != nullptr) return bad("Host is there more than once.");
  if (!is_authority(field.value)) return bad("Host is not a host name with an optional port.");
  found.host = &field;
  return std::nullopt;
}

void take_connection(framing_fields& found, std::string_view value) noexcept {
  base::each_list_element(value, [&](std::string_view option) {
    if (base::iequals(option, "close")) found.close = true;
    if (base::iequals(option, "keep-alive")) found.keep_alive = true;
    if (base::iequals(option, "upgrade")) found.upgrade_option = true;
  });
}

/// The length of the name rules out nearly all fields that are irrelevant here.
std::optional<fault> take_field(framing_fields& found, const base::field& field,
                                bool request) noexcept {
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

std::optional<fault> take_fields(framing_fields& found, const head& parsed, bool request) noexcept {
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
bool keeps_alive(const framing_fields& found, std::uint8_t minor) noexcept {
  return !found.close && (minor == 1 || found.keep_alive);
}

void set_body_framing(head& parsed, const framing_fields& found) noexcept {
  if (found.chunked) {
    parsed.body = body_kind::chunked;
  } else if (found.length.value_or(0) != 0) {
    parsed.body = body_kind::sized;
  } else {
    parsed.body = body_kind::none;
  }
}

}  // namespace

std::optional<fault> frame_request(head& parsed) noexcept {
  framing_fields found;
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
  set_body_framing(parsed, found);
  return std::nullopt;
}

std::optional<fault> frame_answer(head& parsed, request_kind request) noexcept {
  framing_fields found;
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
    set_body_framing(parsed, found);
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

}  // namespace onceguard::http1
