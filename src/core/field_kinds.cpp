#include "core/field_kinds.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/field.hpp"

namespace onceguard::core {
namespace {

/// These stand anywhere in a name: each vendor has its own spelling around them.
constexpr std::array<std::string_view, 5> account_parts{"tenant", "account", "merchant",
                                                        "organization", "organisation"};
/// These are a whole word of a name, as they are a part of other words, too.
constexpr std::array<std::string_view, 24> account_words{
    "store",       "stores",   "storeid", "shop",      "shopid",     "org",
    "orgid",       "orgs",     "company", "companyid", "workspace",  "project",
    "projectid",   "customer", "partner", "seller",    "vendor",     "realm",
    "workspaceid", "onbehalf", "behalf",  "subuser",   "customerid", "projects"};
constexpr std::array<std::string_view, 6> account_names{"x-client-id",      "x-user-id",
                                                        "x-forwarded-host", "x-original-host",
                                                        "x-host",           "impersonate-user"};

constexpr std::array<std::string_view, 8> operation_words{"soapaction",   "dryrun",  "simulate",
                                                          "simulation",   "sandbox", "testmode",
                                                          "validateonly", "override"};
/// `X-Operation-Id` has another value at each try, so these words count only where they stand
/// alone.
constexpr std::array<std::string_view, 13> operation_names{
    "x-amz-target", "x-method",      "x-dry",         "x-original-url",  "x-rewrite-url",
    "x-test-mode",  "x-http-method", "validate-only", "x-validate-only", "x-action",
    "x-operation",  "action",        "operation"};

constexpr char folded(char c) noexcept { return c == '_' ? '-' : base::ascii_lower(c); }

bool begins_with(std::string_view text, std::string_view part) noexcept {
  return text.size() >= part.size() && base::iequals(text.substr(0, part.size()), part);
}

bool has_part(std::string_view name) noexcept {
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = base::ascii_lower(name[i]);
    if (c != 't' && c != 'a' && c != 'm' && c != 'o') continue;
    const auto rest = name.substr(i);
    for (const auto part : account_parts) {
      if (part.front() == c && begins_with(rest, part)) return true;
    }
  }
  return false;
}

template <class Words>
bool has_word(std::string_view name, const Words& words) noexcept {
  for (std::size_t i = 0; i < name.size();) {
    auto end = i;
    while (end < name.size() && folded(name[end]) != '-') ++end;
    const auto word = name.substr(i, end - i);
    for (const auto wanted : words) {
      if (wanted.size() == word.size() && base::iequals(word, wanted)) return true;
    }
    i = end + 1;
  }
  return false;
}

template <class Names>
bool is_one_of(std::string_view name, const Names& wanted) noexcept {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](std::string_view one) { return base::same_name(name, one); });
}

bool names_dry_run(std::string_view name) noexcept {
  for (std::size_t i = 0; i + 7 <= name.size(); ++i) {
    if (base::same_name(name.substr(i, 7), "dry-run")) return true;
  }
  return false;
}

bool contains(std::string_view text, std::string_view part) noexcept {
  for (std::size_t i = 0; i + part.size() <= text.size(); ++i) {
    if (base::iequals(text.substr(i, part.size()), part)) return true;
  }
  return false;
}

/// Whatever else its name says, it may be what a caller is known by.
bool may_be_a_session(std::string_view name) noexcept {
  return contains(name, "session") || contains(name, "auth") || contains(name, "user");
}

bool guards_against_forgery(std::string_view name) noexcept {
  return (contains(name, "csrf") || contains(name, "xsrf")) && !may_be_a_session(name);
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

/// What browsers say about a fetch is no word of the application.
bool is_of_browser(std::string_view name) noexcept {
  return begins_with(name, "sec-") || begins_with(name, "access-control-");
}

}  // namespace

bool names_account(std::string_view name) noexcept {
  if (is_of_browser(name)) return false;
  return has_part(name) || has_word(name, account_words) || is_one_of(name, account_names);
}

bool names_operation(std::string_view name) noexcept {
  if (is_of_browser(name)) return false;
  return has_word(name, operation_words) || is_one_of(name, operation_names) || names_dry_run(name);
}

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
