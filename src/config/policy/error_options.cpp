// The options of what clients see of Onceguard itself: errors, markers, whole contracts.
#include <algorithm>

#include "base/ascii.hpp"
#include "base/url.hpp"
#include "config/policy/policy_options.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::array<std::string_view, 5> form_words{"problem", "stripe", "paypal", "adyen",
                                                     "template"};
constexpr std::array<std::string_view, 5> profile_words{"", "ietf", "stripe", "paypal", "adyen"};

std::string origin_complaint(std::string_view value) {
  if (value == "*") return {};
  const auto parts = base::split_url(value);
  const bool web = parts.scheme == "https" || parts.scheme == "http";
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7f && base::ascii_lower(c) == c;
  });
  if (web && plain && parts.path.empty() && !parts.query && !parts.fragment &&
      !parts.authority.value_or("").empty() &&
      parts.authority->find('@') == std::string_view::npos) {
    return {};
  }
  return "expected an origin such as \"https://shop.example\" in lower case, without a path, or "
         "\"*\", got " +
         quoted(value);
}

const row<policy_draft> error_table[]{
    {{.name = "profile",
      .flag = "profile",
      .kind = value_kind::choice,
      .fallback = "",
      .example = "stripe",
      .text = "A contract that clients know already: `ietf` (the draft), `stripe`, `paypal` or "
              "`adyen`. It sets what is not set by itself: the key's header, statuses, which "
              "answers are kept and for how long, the form of errors. See "
              "docs/profiles.md.",
      .choices = profile_words},
     [](policy_draft& d, const option_value& v) {
       d.profile = profile_words[static_cast<std::size_t>(number(v))];
     }},
    {{.name = "errors",
      .flag = "errors",
      .kind = value_kind::choice,
      .fallback = "problem",
      .text = "How Onceguard's own errors are written: `problem` (RFC 9457), as `stripe`, "
              "`paypal` or `adyen` write them, or by a `template`.",
      .choices = form_words},
     assign<&policy_draft::policy, &route_policy::errors>},
    {{.name = "error_template_file",
      .flag = "error-template-file",
      .example = "/etc/onceguard/error.json",
      .text = "With `errors = \"template\"`: a file with the JSON of an error, in which `{type}`, "
              "`{title}`, `{status}`, `{detail}`, `{retryable}` and `{retry}` are replaced, the "
              "texts without quotes. SIGHUP reads it again.",
      .may_be_empty = true},
     assign<&policy_draft::error_template_file>},
    {{.name = "mismatch_status",
      .flag = "mismatch-status",
      .kind = value_kind::status,
      .fallback = "422",
      .text = "The status for a key that belongs to another request.",
      .min = 400,
      .max = 499},
     assign<&policy_draft::policy, &route_policy::mismatch_status>},
    {{.name = "busy_status",
      .flag = "busy-status",
      .kind = value_kind::status,
      .fallback = "409",
      .text = "The status for a repeat while the first one runs.",
      .min = 400,
      .max = 499},
     assign<&policy_draft::policy, &route_policy::busy_status>},
    {{.name = "echo_key",
      .flag = "echo-key",
      .kind = value_kind::boolean,
      .fallback = "false",
      .text = "Answers of guarded requests carry the key that came in a header, in "
              "a field of the same name.",
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::echo_key>},
    {{.name = "cors",
      .flag = "cors",
      .kind = value_kind::list,
      .example = "https://shop.example",
      .text = "Origins of web pages that may read Onceguard's own answers, and of those "
              "`Retry-After` and `Onceguard-Retry`; `*`: every page. The service's answers, "
              "those to preflight requests too, have its own fields.",
      .complaint = origin_complaint,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::cors>},
};

}  // namespace

std::span<const row<policy_draft>> error_rows() { return error_table; }

}  // namespace onceguard::config
