#include "config/table/parsers.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/number_in.hpp"
#include "base/octets.hpp"
#include "base/url.hpp"

namespace onceguard::config {

using base::is_digit;

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: insert, delete, replace, swap neighbours.
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t word_max = 64;  // longer words are no typing errors
  if (word.size() > word_max) return {};
  std::size_t best = word.size() <= 4 ? 2 : 3;  // the distance must be below this
  std::string_view found;
  for (const auto candidate : known) {
    const auto d = edit_distance(word, candidate);
    if (d < best) {
      best = d;
      found = candidate;
    }
  }
  return found;
}

namespace {

error value_refusal(std::string description) {
  return {errc::invalid_argument, std::move(description)};
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

/// Why a path is not normalised; empty if it is.
std::string_view path_fault(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;
    const auto c = base::escape_in(path.substr(i));
    if (!c) return "a percent sign without two hex digits";
    if (base::unreserved_octets[*c]) {
      return "an escape that is not needed (write the character itself)";
    }
    if (*c == '/' || *c == '\\' || *c == '\0') return "an escaped slash, backslash or NUL";
  }
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") return "a dot segment";
    if (segment.empty() && !path.empty()) return "an empty segment";
    path.remove_prefix(segment.size());
  }
  return {};
}

}  // namespace

result<base::http_url> parse_http_url(std::string_view text) {
  auto parsed = base::parse_http_url(text);
  if (parsed) return parsed;
  return value_refusal(parsed.error().detail + ", got " + quoted_url(text));
}

result<base::http_url> parse_web_url(std::string_view text) {
  auto parsed = base::parse_web_url(text);
  if (parsed) return parsed;
  return value_refusal(parsed.error().detail + ", got " + quoted_url(text));
}

result<std::string> parse_route_host(std::string_view text) {
  const auto found = base::parse_authority(text, 0);
  if (!found || text.ends_with(']') != text.starts_with('[') ||
      (!text.starts_with('[') && text.find(':') != std::string_view::npos)) {
    return value_refusal("expected a host name or address without a port, got " + quoted_url(text));
  }
  std::string host(text);
  std::transform(host.begin(), host.end(), host.begin(), base::ascii_lower);
  return host;
}

result<std::string> parse_route_path(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return value_refusal("expected a path such as \"/v1/payments\"" + std::string(why) + ", got " +
                         quoted(text));
  };
  if (!text.starts_with('/')) return wrong(" that begins with a slash");
  if (!is_printable(text)) return wrong(" in printable ASCII without spaces");
  if (text.find_first_of("?#\\") != std::string_view::npos) {
    return wrong(" without a query, fragment or backslash");
  }
  if (const auto fault = path_fault(text); !fault.empty()) {
    return wrong(" in normal form, without " + std::string(fault));
  }
  std::string path(text);
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') continue;  // the normal form of an escape has upper case digits
    for (const auto position : {i + 1, i + 2}) {
      if (path[position] >= 'a' && path[position] <= 'f')
        path[position] = static_cast<char>(path[position] - 'a' + 'A');
    }
  }
  return path;
}

result<key_source> parse_key_source(std::string_view text) {
  constexpr std::array<std::string_view, 9> never{
      "authorization", "connection", "content-length", "content-type",     "cookie",
      "host",          "te",         "trailer",        "transfer-encoding"};
  constexpr std::string_view path = "path:";
  constexpr std::string_view json = "json:";
  key_source out;
  if (text == "content") {
    out.location = key_location::content;
    return out;
  }
  if (text.starts_with(path)) {
    const auto digits = text.substr(path.size());
    const auto segment = base::number_in<decltype(out.segment)>(digits, 1, 64);
    if (!segment) {
      return value_refusal("expected the number of a segment, from 1 to 64, after \"path:\", got " +
                           quoted(text));
    }
    out.segment = *segment;
    out.location = key_location::path;
    return out;
  }
  if (text.starts_with(json)) {
    out.pointer = text.substr(json.size());
    if (!is_json_pointer(out.pointer)) {
      return value_refusal("expected a JSON Pointer such as \"/id\" after \"json:\", got " +
                           quoted(text));
    }
    out.location = key_location::json;
    return out;
  }
  if (!base::is_token(text)) {
    return value_refusal(
        "expected the name of a header field such as \"Idempotency-Key\", \"path:N\", "
        "\"json:/pointer\" or \"content\", got " +
        quoted(text));
  }
  const bool refused = base::same_name(text.substr(0, 10), "onceguard-") ||
                       std::any_of(never.begin(), never.end(), [&](std::string_view name) {
                         return base::same_name(text, name);
                       });
  if (refused) return value_refusal("this header field can't be a key, got " + quoted(text));
  out.header = text;
  return out;
}

result<std::string> parse_counting_header(std::string_view text) {
  const bool out = text.starts_with('-');
  const auto name = text.substr(out ? 1 : 0);
  if (!base::is_token(name) || name.starts_with('+')) {
    return value_refusal("expected the name of a header, or \"-\" and the name, got " +
                         quoted(text));
  }
  std::string made(1, out ? '-' : '+');
  for (const char c : name) made += c == '_' ? '-' : base::ascii_lower(c);
  return made;
}

result<std::string> parse_method(std::string_view text) {
  if (!base::is_token(text))
    return value_refusal("expected a method such as \"POST\", got " + quoted(text));
  if (std::any_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    return value_refusal("methods are in capitals, got " + quoted(text));
  }
  return std::string(text);
}

result<base::endpoint> parse_endpoint(std::string_view text) {
  auto parsed = base::parse_endpoint(text);
  if (parsed) return parsed;
  return error(errc::invalid_argument, parsed.error().detail + ", got " + quoted_url(text));
}

result<std::string> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  boost::system::error_code failed;
  const auto address = boost::asio::ip::make_address(std::string(text.substr(0, slash)), failed);
  if (!failed && slash != std::string_view::npos) {
    if (address.is_v4()) {
      boost::asio::ip::make_network_v4(std::string(text), failed);
    } else {
      boost::asio::ip::make_network_v6(std::string(text), failed);
    }
  }
  if (!failed && text.find('%') == std::string_view::npos) return std::string(text);
  return error(
      errc::invalid_argument,
      "expected an address or block such as \"10.0.0.1\" or \"10.0.0.0/8\", got " + quoted(text));
}

}  // namespace onceguard::config
