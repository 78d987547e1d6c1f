// The options of what makes two requests one operation: key, scope and fingerprint.
#include <algorithm>

#include "config/policy/policy_check.hpp"
#include "config/policy/policy_options.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::array<std::string_view, 2> syntax_words{"lenient", "strict"};
constexpr std::array<std::string_view, 2> key_format_words{"any", "uuid"};
constexpr std::array<std::string_view, 2> anonymous_words{"allow", "refuse"};
constexpr std::array<std::string_view, 4> fingerprint_words{"exact", "json", "none", "form"};

const row<policy_draft> key_table[]{
    {{.name = "key",
      .flag = "key-from",
      .kind = value_kind::list,
      .fallback = "Idempotency-Key",
      .example = "path:2",
      .text = "Where the key is. A request that has it in several places must have the same in "
              "each. The name of a header field; `path:N`, the Nth segment of the path, for ids "
              "that the client makes "
              "(`path:2` of `/things/17` is 17; it must be plain, without escapes); `json:` and "
              "a JSON Pointer, a text or whole number in the body (`json:/id`; every body is "
              "then read "
              "as a whole, up to `max_request_body`); or, as the "
              "last one, `content`: requests that are the same by `fingerprint` are one within "
              "`retention`, also if they were meant to be two. See "
              "docs/patterns/README.md.",
      .complaint = refusal_of<parse_key_source>},
     [](policy_draft& d, const option_value& v) {
       d.policy.key.clear();
       for (const auto& one : list(v)) d.policy.key.push_back(*parse_key_source(one));
     }},
    {{.name = "key_syntax",
      .flag = "key-syntax",
      .kind = value_kind::choice,
      .fallback = "lenient",
      .text = "`lenient` takes an RFC 8941 String (`\"abc\"`) and a bare value (`abc`); "
              "`strict` the former only.",
      .choices = syntax_words},
     assign<&policy_draft::policy, &route_policy::key_syntax>},
    {{.name = "key_format",
      .flag = "key-format",
      .kind = value_kind::choice,
      .fallback = "any",
      .text = "`uuid` refuses keys that are no UUID.",
      .choices = key_format_words},
     assign<&policy_draft::policy, &route_policy::key_format>},
    {{.name = "scope",
      .flag = "scope",
      .kind = value_kind::list,
      .fallback = "credential",
      .example = "header:X-Tenant",
      .text = "Who a key belongs to: `credential` (the `Authorization` header, else the client's "
              "certificate), `header:NAME`, `cookie:NAME`, `jwt:CLAIM` (of a bearer token that "
              "`[jwt]` verifies), `auth-param:NAME,NAME` (parts of an `Authorization` that is "
              "signed anew for each try), `address` (of the client) or `none` (all share their "
              "keys). Of a list, all together: `[\"credential\", \"header:X-Tenant\"]`. What is "
              "empty is missing. See also `previous_scope`.",
      .one_or_more = true,
      .complaint = refusal_of<parse_scope>},
     assign<&policy_draft::scope>},
    {{.name = "credential_schemes",
      .flag = "credential-schemes",
      .kind = value_kind::list,
      .fallback = "Bearer,Basic,Token,ApiKey",
      .text = "With `scope = \"credential\"`: the schemes of `Authorization` whose value is the "
              "same for each try; `bare` stands for a value without a scheme. A request with a "
              "key and another scheme is refused (400): its retry would be a stranger.",
      .complaint = refusal_of<parse_credential_scheme>},
     assign<&policy_draft::policy, &route_policy::credential_schemes>},
    {{.name = "replay_check",
      .flag = "replay-check",
      .example = "/auth",
      .text = "Before a stored answer goes out, this path of the upstream is asked with the "
              "caller's own headers. 2xx allows it, 401 and 403 go to the caller; after anything "
              "else the caller gets 503 and may try again. Empty: nobody is asked. "
              "See [replays that are checked](http.md#replays-that-are-checked).",
      .may_be_empty = true,
      .complaint = replay_check_complaint,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::replay_check>},
    {{.name = "previous_scope",
      .flag = "previous-scope",
      .kind = value_kind::list,
      .example = "credential",
      .text = "The scopes that the route had before: a record that is alive under one of them "
              "answers, and only where there is none, the key is claimed under `scope`. To be "
              "set with another `scope`, and taken out once the longest retention has passed.",
      .complaint = refusal_of<parse_scope>},
     [](policy_draft& d, const option_value& v) {
       d.policy.previous_scope.clear();
       for (const auto& one : list(v)) d.policy.previous_scope.push_back(*parse_scope(one));
     }},
    {{.name = "anonymous",
      .flag = "anonymous",
      .kind = value_kind::choice,
      .fallback = "allow",
      .text = "With `scope = \"credential\"`, for a request with a key and without a "
              "credential: `allow` (such callers share one scope, and what tells them apart is "
              "part of the fingerprint) or `refuse` (400).",
      .choices = anonymous_words},
     [](policy_draft& d, const option_value& v) { d.policy.anonymous = number(v) == 0; }},
    {{.name = "fingerprint",
      .flag = "fingerprint",
      .kind = value_kind::choice,
      .fallback = "exact",
      .text = "What makes two requests the same, besides upstream, method, host, path, query and "
              "`fingerprint_headers`: `exact` the content type and every byte of the body (of "
              "a gzip body its contents, of a multipart body its parts); `json` the canonical "
              "JSON of the body; `form` the fields and files of a form, whatever the boundary "
              "between them; `none` nothing more.",
      .choices = fingerprint_words},
     assign<&policy_draft::policy, &route_policy::fingerprint, &fingerprint_rule::kind>},
    {{.name = "fingerprint_headers",
      .flag = "fingerprint-headers",
      .kind = value_kind::list,
      .example = "X-Region,-Host",
      .text = "Headers that are part of the fingerprint, beside the host and those that name an "
              "account or the operation (`*-Tenant*`, `*-Account*`, `*-Organization*`, "
              "`*-Merchant*`, `*-Store*`, `*-Shop*`, `*-Team*`, `*-Namespace*`, `SOAPAction`, "
              "`X-Amz-Target`, `X-HTTP-Method*`, `X-Dry-Run` …), unless the name ends as that of a "
              "mark of the try (`X-Tenant-Request-Id`). A hyphen before a name takes it out.",
      .complaint = refusal_of<parse_counting_header>},
     [](policy_draft& d, const option_value& v) {
       auto& headers = d.policy.fingerprint_headers;
       headers.clear();
       for (const auto& one : list(v)) headers.push_back(*parse_counting_header(one));
       std::sort(headers.begin(), headers.end());
       headers.erase(std::unique(headers.begin(), headers.end()), headers.end());
     }},
    {{.name = "fingerprint_pick",
      .flag = "fingerprint-pick",
      .kind = value_kind::list,
      .example = "/amount,/currency",
      .text = "With `fingerprint = \"json\"`: JSON Pointers to the only values that count.",
      .complaint = pointer_complaint},
     assign<&policy_draft::pick>},
    {{.name = "fingerprint_omit",
      .flag = "fingerprint-omit",
      .kind = value_kind::list,
      .example = "/sent_at",
      .text = "With `fingerprint = \"json\"`: JSON Pointers to values that don't count.",
      .complaint = pointer_complaint},
     assign<&policy_draft::omit>},
};

}  // namespace

std::span<const row<policy_draft>> key_rows() { return key_table; }

}  // namespace onceguard::config
