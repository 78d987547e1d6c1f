#include "core/lasting_mark.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace onceguard::core {
namespace {

bool mark_contains(std::string_view text, std::string_view part) noexcept {
  for (std::size_t i = 0; i + part.size() <= text.size(); ++i) {
    if (base::iequals(text.substr(i, part.size()), part)) return true;
  }
  return false;
}

/// Whatever else its name says, it may be what a caller is known by.
bool may_be_a_session(std::string_view name) noexcept {
  return mark_contains(name, "session") || mark_contains(name, "auth") ||
         mark_contains(name, "user");
}

bool guards_against_forgery(std::string_view name) noexcept {
  return (mark_contains(name, "csrf") || mark_contains(name, "xsrf")) && !may_be_a_session(name);
}

/// Whether the text is `prefix` and then at least one character that `fits`.
template <class Fits>
bool goes_on(std::string_view text, std::string_view prefix, const Fits& fits) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

constexpr bool is_decimal(char c) noexcept { return c >= '0' && c <= '9'; }

/// Cookies of balancers (which server), of counters and of protection against robots. The whole
/// name counts: `_gallery_session` only begins like a counter's.
bool is_passing_cookie(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 26> names{"AWSALB",
                                                   "AWSALBCORS",
                                                   "AWSALBTG",
                                                   "AWSALBTGCORS",
                                                   "AWSELB",
                                                   "AWSELBCORS",
                                                   "GCLB",
                                                   "__cf_bm",
                                                   "__cflb",
                                                   "__cfruid",
                                                   "_cfuvid",
                                                   "cf_clearance",
                                                   "_ga",
                                                   "_gid",
                                                   "_gat",
                                                   "_gcl_au",
                                                   "_fbp",
                                                   "_fbc",
                                                   "LB",
                                                   "SERVERID",
                                                   "ROUTEID",
                                                   "INGRESSCOOKIE",
                                                   "ARRAffinity",
                                                   "ARRAffinitySameSite",
                                                   "ApplicationGatewayAffinity",
                                                   "ApplicationGatewayAffinityCORS"};
  if (guards_against_forgery(name)) return true;
  if (may_be_a_session(name)) return false;
  const auto in_capitals = [](char c) { return is_decimal(c) || (c >= 'A' && c <= 'Z'); };
  const auto hexadecimal = [](char c) {
    const char lower = base::ascii_lower(c);
    return is_decimal(c) || (lower >= 'a' && lower <= 'f');
  };
  return std::find(names.begin(), names.end(), name) != names.end() ||
         goes_on(name, "_ga_", in_capitals) || goes_on(name, "TS01", hexadecimal) ||
         name.starts_with("BIGipServer") || name.starts_with("incap_ses_") ||
         name.starts_with("visid_incap_");
}

}  // namespace

std::string lasting_mark(std::string_view mark) {
  const auto name = mark.substr(0, mark.find(':'));
  if (guards_against_forgery(name)) return {};
  if (!base::iequals(name, "cookie")) return std::string(mark);
  std::string out;
  auto rest = mark.substr(std::min(name.size() + 1, mark.size()));
  while (!rest.empty()) {
    const auto cookie = base::trim(rest.substr(0, rest.find(';')));
    rest.remove_prefix(std::min(rest.find(';'), rest.size() - 1) + 1);
    const auto held = base::trim(cookie.substr(0, cookie.find('=')));
    if (cookie.empty() || is_passing_cookie(held)) continue;
    out.append(out.empty() ? "cookie:" : "; ").append(cookie);
  }
  return out;
}

}  // namespace onceguard::core
