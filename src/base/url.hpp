// The one place that cuts URLs into their parts. The cutting allocates nothing, as each request in
// absolute form passes through it; what the parts may hold is checked where they are used.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace onceguard::base {

/// The parts of a URL or reference as they are written (RFC 3986, appendix B).
struct url_parts {
  std::string_view scheme;                    ///< without the colon; empty: there is none
  std::optional<std::string_view> authority;  ///< what stands behind "//"
  std::string_view path;
  std::optional<std::string_view> query;     ///< without the question mark
  std::optional<std::string_view> fragment;  ///< without the hash
};

/// The scheme that the text begins with, without the colon; empty: with none.
[[nodiscard]] constexpr std::string_view scheme_of(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text.front())) return {};
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ':') return text.substr(0, i);
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') break;
  }
  return {};
}

/// Every text has parts: a text that is no URL at all is a path.
[[nodiscard]] constexpr url_parts split_url(std::string_view text) noexcept {
  url_parts out;
  if (const auto hash = text.find('#'); hash != text.npos) {
    out.fragment = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  if (const auto question = text.find('?'); question != text.npos) {
    out.query = text.substr(question + 1);
    text = text.substr(0, question);
  }
  out.scheme = scheme_of(text);
  if (!out.scheme.empty()) text.remove_prefix(out.scheme.size() + 1);
  if (text.starts_with("//")) {
    text.remove_prefix(2);
    const auto end = text.find('/');
    out.authority = text.substr(0, end);
    text = end == text.npos ? std::string_view{} : text.substr(end);
  }
  out.path = text;
  return out;
}

/// The octet that the escape %XX at the beginning of a text means; empty: it begins with none.
[[nodiscard]] std::optional<unsigned char> escape_in(std::string_view text) noexcept;
void append_escape(std::string& out, unsigned char octet);
/// The text with all but RFC 3986's "unreserved" characters escaped.
[[nodiscard]] std::string percent_encoded(std::string_view text);
/// The text with each %XX decoded; empty: an escape is malformed.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

/// The text up to the authority of a URL that stands anywhere in it. What follows may hold a
/// password, and is not shown. The whole text, if no URL is in it.
[[nodiscard]] constexpr std::string_view before_authority(std::string_view text) noexcept {
  const auto mark = text.find("://");
  return mark == text.npos ? text : text.substr(0, mark + 3);
}

}  // namespace onceguard::base
