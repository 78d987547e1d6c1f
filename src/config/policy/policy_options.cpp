// The options of [defaults], which are also allowed in a [[route]].
#include "config/policy/policy_options.hpp"

#include "config/policy/policy_check.hpp"
#include "config/table/outcome_rules.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::int64_t retention_max = 3'650 * day;
constexpr std::int64_t body_max = 256 << 20;

constexpr std::array<std::string_view, 3> keep_words{"success", "final", "all"};
constexpr std::array<std::string_view, 2> busy_words{"reject", "wait"};
constexpr std::array<std::string_view, 3> unknown_words{"hold", "probe", "rerun"};
constexpr std::array<std::string_view, 2> probe_words{"fence", "ask"};
constexpr std::array<std::string_view, 2> effect_words{"elsewhere", "transactional"};
constexpr std::array<std::string_view, 2> failure_words{"closed", "open"};
constexpr std::array<std::string_view, 3> exception_words{"unknown", "release", "fail"};

const row<policy_draft> policy_table[]{
    {{.name = "methods",
      .flag = "methods",
      .kind = value_kind::list,
      .fallback = "POST,PATCH",
      .text = "The methods that are guarded when they carry a key. Others pass untouched. An "
              "empty list guards nothing.",
      .complaint = guarded_method_complaint},
     assign<&policy_draft::policy, &route_policy::methods>},
    {{.name = "required",
      .flag = "required",
      .kind = value_kind::boolean,
      .fallback = "false",
      .text = "Refuse a listed method without a key (400), and what another server could read as a "
              "path or host of this route."},
     assign<&policy_draft::policy, &route_policy::required>},
    {{.name = "observe",
      .flag = "observe",
      .kind = value_kind::boolean,
      .fallback = "false",
      .text = "Guard nothing: every request passes as it comes, also one without a required "
              "key, and what guarding would have done is counted: see "
              "docs/observing.md."},
     assign<&policy_draft::policy, &route_policy::observe>},
    {{.name = "keep",
      .flag = "keep",
      .kind = value_kind::choice,
      .fallback = "success",
      .text = "Which answers end the matter and are replayed: `success` 2xx and 3xx; `final` "
              "also 4xx but 408, 409, 425 and 429; `all` every one that came whole. A 503, 501 or "
              "408 releases, but one that a proxy may have made is unknown: see "
              "docs/proxies.md.",
      .choices = keep_words},
     assign<&policy_draft::policy, &route_policy::keep>},
    {{.name = "outcome",
      .flag = "outcome",
      .kind = value_kind::outcomes,
      .example = "5xx=release,402=complete",
      .text = "What statuses, classes and parts of an answer mean for the record, in the place "
              "of `keep`: `complete`, `release` (it did not happen), `unknown` or `fail` (to be "
              "run again after a back-off). A part is `header:NAME`, `header:NAME=VALUE`, "
              "`json:/POINTER` or `json:/POINTER=VALUE`. Parts with a value go first, then "
              "parts, single statuses and classes. The service's own `Onceguard-Outcome` goes "
              "before all of them.",
      .choices = outcome_words()},
     [](policy_draft& d, const option_value& v) {
       assign_outcomes(d.policy, std::get<outcome_list>(v));
     }},
    {{.name = "backoff",
      .flag = "backoff",
      .kind = value_kind::duration,
      .fallback = "1s",
      .text = "After `fail`: not again before this, doubling with each failure.",
      .min = 100,
      .max = day},
     assign<&policy_draft::policy, &route_policy::backoff>},
    {{.name = "backoff_max",
      .flag = "backoff-max",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "The longest back-off.",
      .min = 100,
      .max = day},
     assign<&policy_draft::policy, &route_policy::backoff_max>},
    {{.name = "lease",
      .flag = "lease",
      .kind = value_kind::duration,
      .fallback = "30s",
      .text = "How long the right to run lasts without being renewed. It is renewed while "
              "the work runs: after a crash, this is how long the key is busy.",
      .min = second,
      .max = day},
     assign<&policy_draft::policy, &route_policy::lease>},
    {{.name = "retention",
      .flag = "retention",
      .kind = value_kind::duration,
      .fallback = "24h",
      .text = "How long a settled record is kept, and with it the promise that a repeat does "
              "not run again.",
      .min = second,
      .max = retention_max},
     assign<&policy_draft::policy, &route_policy::retention>},
    {{.name = "unknown_retention",
      .flag = "unknown-retention",
      .kind = value_kind::duration,
      .example = "30d",
      .text = "After this long a key whose outcome is unknown is forgotten, and runs again: a "
              "rule to run again. Empty: never.",
      .min = second,
      .max = retention_max,
      .may_be_empty = true},
     assign<&policy_draft::policy, &route_policy::unknown_retention>},
    {{.name = "on_busy",
      .flag = "on-busy",
      .kind = value_kind::choice,
      .fallback = "reject",
      .text = "What a repeat gets while the first one runs: `reject` 409, or `wait` for the "
              "first one's answer.",
      .choices = busy_words},
     assign<&policy_draft::policy, &route_policy::on_busy>},
    {{.name = "wait",
      .flag = "wait",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "With `on_busy = \"wait\"`: how long at most; then 409.",
      .min = 10,
      .max = hour},
     assign<&policy_draft::policy, &route_policy::wait>},
    {{.name = "unknown",
      .flag = "unknown",
      .kind = value_kind::choice,
      .fallback = "hold",
      .text = "What a repeat does when nobody knows whether the first took effect: `hold` it "
              "for an operator, `probe` (ask the application) or `rerun` (at least once).",
      .choices = unknown_words},
     assign<&policy_draft::policy, &route_policy::unknown>},
    {{.name = "probe",
      .flag = "probe",
      .example = "http://127.0.0.1:9000/outcome/{scope}/{key}",
      .text = "The URL where the application is asked: at a repeat with `unknown = \"probe\"`, "
              "and by `onceguard reconcile`.",
      .may_be_empty = true,
      .complaint = probe_complaint,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::probe>},
    {{.name = "probe_mode",
      .flag = "probe-mode",
      .kind = value_kind::choice,
      .fallback = "fence",
      .text = "`fence`: the application refuses earlier tokens from the moment that it is "
              "asked. `ask`: for one that can't; weaker.",
      .choices = probe_words,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::probe_mode>},
    {{.name = "probe_present",
      .flag = "probe-present",
      .kind = value_kind::status,
      .example = "200",
      .text = "With `probe_mode = \"ask\"`: a bare answer of this status means that it did "
              "happen.",
      .min = 100,
      .max = 599,
      .may_be_empty = true,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::probe_present>},
    {{.name = "probe_absent",
      .flag = "probe-absent",
      .kind = value_kind::status,
      .example = "404",
      .text = "With `probe_mode = \"ask\"`: a bare answer of this status means that it did "
              "not happen.",
      .min = 100,
      .max = 599,
      .may_be_empty = true,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::probe_absent>},
    {{.name = "effect",
      .flag = "effect",
      .kind = value_kind::choice,
      .fallback = "elsewhere",
      .text = "`transactional`: the upstream calls `onceguard.complete(lease, …)` in the "
              "transaction of its effect, so that an unknown outcome runs again, "
              "safely. Its lease is not renewed, and lasts for `upstream_timeout` at least. "
              "Needs a PostgreSQL store.",
      .choices = effect_words},
     assign<&policy_draft::policy, &route_policy::effect>},
    {{.name = "store_failure",
      .flag = "store-failure",
      .kind = value_kind::choice,
      .fallback = "closed",
      .text = "When the store is out of reach: `closed` answers 503, `open` lets requests "
              "through unguarded (at least once).",
      .choices = failure_words},
     assign<&policy_draft::policy, &route_policy::store_failure>},
    {{.name = "max_request_body",
      .flag = "max-request-body",
      .kind = value_kind::size,
      .fallback = "1MiB",
      .text = "The longest body of a guarded request; longer ones get 413.",
      .max = body_max},
     assign<&policy_draft::policy, &route_policy::max_request_body>},
    {{.name = "max_answer_body",
      .flag = "max-answer-body",
      .kind = value_kind::size,
      .fallback = "1MiB",
      .text = "The longest body of an answer that is kept. Of a longer one only the status "
              "is: a repeat is told that it took effect.",
      .max = body_max},
     assign<&policy_draft::policy, &route_policy::max_answer_body>},
    {{.name = "quota_in_flight",
      .flag = "quota-in-flight",
      .kind = value_kind::integer,
      .fallback = "0",
      .example = "100",
      .text = "How many requests of one scope may run at a time; a new key beyond it gets 429, a "
              "repeat never. Counted for each route in each process by itself. 0: any number. See "
              "[quotas](operations.md#quotas).",
      .max = 1'000'000},
     assign<&policy_draft::policy, &route_policy::quota_in_flight>},
    {{.name = "quota_new_keys",
      .flag = "quota-new-keys",
      .kind = value_kind::integer,
      .fallback = "0",
      .example = "50",
      .text = "How many new keys one scope may bring in a second, and at once after a pause; a new "
              "key beyond it gets 429, a repeat never. Counted as `quota_in_flight` is. 0: any "
              "number.",
      .max = 1'000'000},
     assign<&policy_draft::policy, &route_policy::quota_new_keys>},
    {{.name = "quota_live_records",
      .flag = "quota-live-records",
      .kind = value_kind::integer,
      .fallback = "0",
      .example = "100000",
      .text = "How many records one scope may have, of new keys within the `retention`; a new key "
              "beyond it gets 429, a repeat never. Counted as `quota_in_flight` is, from the start "
              "of the process on. 0: any number.",
      .max = 1'000'000'000},
     assign<&policy_draft::policy, &route_policy::quota_live_records>},
    {{.name = "quota_live_bytes",
      .flag = "quota-live-bytes",
      .kind = value_kind::size,
      .fallback = "0",
      .example = "64MiB",
      .text = "How many bytes the kept answers of these records may have, bodies and headers. "
              "Counted as `quota_live_records` is. 0: any number.",
      .max = std::int64_t{1} << 50},
     assign<&policy_draft::policy, &route_policy::quota_live_bytes>},
    {{.name = "upstream_timeout",
      .flag = "upstream-timeout",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "From the last byte of a request to the last of its answer. Over it: 504, and "
              "the outcome is unknown.",
      .min = 100,
      .max = day,
      .only = front_door::gateway},
     assign<&policy_draft::policy, &route_policy::upstream_timeout>},
    {{.name = "keep_set_cookie",
      .flag = "keep-set-cookie",
      .kind = value_kind::boolean,
      .fallback = "false",
      .text = "Keep and replay `Set-Cookie` too."},
     assign<&policy_draft::policy, &route_policy::keep_set_cookie>},
    {{.name = "exception",
      .kind = value_kind::choice,
      .fallback = "unknown",
      .text = "What an exception of the handler means for the record: `unknown`, `release` (it "
              "did not happen) or `fail` (to be run again after a back-off).",
      .choices = exception_words,
      .only = front_door::service},
     assign<&policy_draft::policy, &route_policy::exception>},
};

}  // namespace

std::span<const row<policy_draft>> policy_rows() {
  static const auto all = [] {
    std::vector<row<policy_draft>> joined;
    for (const auto part : {key_rows(), std::span<const row<policy_draft>>(policy_table),
                            answer_rows(), error_rows()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace onceguard::config
