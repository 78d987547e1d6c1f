#include "config/policy/pitfalls.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/field.hpp"
#include "config/table/parsers.hpp"
#include "config/table/scope_sources.hpp"
#include "core/field_kinds.hpp"

namespace onceguard::config {
namespace {

using grade = remark::grade;

struct pitfall {
  grade weight = grade::warning;
  std::string_view option;  ///< that has to be changed
  std::string text;
};
using pitfalls = std::vector<pitfall>;

struct telling_name {
  std::string_view name;
  grade weight;
};

// ---- a scope of what differs at each try: every retry is a stranger

constexpr std::array fields_of_one_try{
    telling_name{"date", grade::fault},
    telling_name{"traceparent", grade::fault},
    telling_name{"tracestate", grade::warning},
    telling_name{"x-b3-spanid", grade::fault},
    telling_name{"b3", grade::fault},
    telling_name{"x-amzn-trace-id", grade::fault},
    telling_name{"x-cloud-trace-context", grade::fault},
    telling_name{"uber-trace-id", grade::fault},
};
constexpr std::array<std::string_view, 6> claims_of_one_token{"jti", "iat",     "exp",
                                                              "nbf", "at_hash", "auth_time"};

void scope_of_one_try(const scope_rule& scope, pitfalls& out) {
  if (scope.source == scope_source::header) {
    const auto* found =
        std::find_if(fields_of_one_try.begin(), fields_of_one_try.end(),
                     [&](const auto& one) { return base::same_name(one.name, scope.name); });
    const bool known = found != fields_of_one_try.end();
    if (!known && !core::marks_a_try(scope.name)) return;
    const auto weight = known ? found->weight : grade::warning;
    const bool always = weight == grade::fault;
    out.push_back({weight, "scope",
                   quoted(scope.text()) + (always ? " is another" : " may be another") +
                       " at each try, so that a retry is a stranger and runs again; take what "
                       "tells callers apart"});
  }
  if (scope.source == scope_source::jwt &&
      std::find(claims_of_one_token.begin(), claims_of_one_token.end(), scope.name) !=
          claims_of_one_token.end()) {
    out.push_back({grade::warning, "scope",
                   quoted(scope.text()) +
                       " is another in each token, so that a retry with a refreshed token is a "
                       "stranger and runs again; take \"jwt:sub\""});
  }
}

// ---- a probe whose refusal, or whose want of an answer, is taken for one

bool says_nothing_of_a_key(std::uint16_t status) {
  constexpr std::array<std::uint16_t, 7> refusals{401, 402, 403, 407, 408, 425, 429};
  return status / 100 == 5 || status / 100 == 3 ||
         std::find(refusals.begin(), refusals.end(), status) != refusals.end();
}

void probe_statuses(const policy_draft& draft, pitfalls& out) {
  const auto absent = draft.policy.probe_absent;
  if (absent == draft.policy.probe_present) return;  // nothing is set, or it is refused anyway
  const auto number = std::to_string(absent);
  if (absent != 0 && (says_nothing_of_a_key(absent) || (absent >= 200 && absent <= 202))) {
    out.push_back(
        {grade::fault, "probe_absent",
         number +
             (absent / 100 == 2 ? " is what services answer for a key that took effect"
                                : " says that the probe was not answered, not that nothing was "
                                  "done") +
             ", and what took effect would run again; take 404 or 410"});
  } else if (absent != 0 && absent != 404 && absent != 410) {
    out.push_back({grade::warning, "probe_absent",
                   number + " is an unusual way to say that a key is not known; 404 and 410 are "
                            "the usual ones"});
  }
  const auto present = draft.policy.probe_present;
  if (says_nothing_of_a_key(present)) {
    out.push_back({grade::fault, "probe_present",
                   std::to_string(present) +
                       " says that the probe was not answered, not that it was done, and what "
                       "was not done would never be done; take 200"});
  }
}

// ---- a key that is the same for all requests of the route

std::size_t segments_of(std::string_view path) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '/' && (i == 0 || path[i - 1] == '/')) ++out;
  }
  return out;
}

void constant_key(const policy_draft& draft, std::string_view path, pitfalls& out) {
  for (const auto& source : draft.policy.key) {
    if (source.location != key_location::path || source.segment > segments_of(path)) continue;
    out.push_back({grade::fault, "key",
                   quoted(source.text()) + " is a part of the route's own path " + quoted(path) +
                       ", so that all its requests have one key; segments are counted from 1, and "
                       "the first one behind the path is \"path:" +
                       std::to_string(segments_of(path) + 1) + "\""});
  }
}

// ---- what never applies

void nothing_guarded(const policy_draft& draft, pitfalls& out) {
  if (!draft.policy.methods.empty()) return;
  const auto found = draft.origins.find("methods");
  const bool here = found != draft.origins.end() && found->second.of_route();
  out.push_back({here ? grade::note : grade::warning, "methods",
                 "with an empty list nothing is guarded: every repeat runs again"});
}

void no_wildcards(const policy_draft& draft, pitfalls& out) {
  const auto star = [](const std::string& pointer) {
    return (pointer + "/").find("/*/") != std::string::npos;
  };
  const auto omit = std::find_if(draft.omit.begin(), draft.omit.end(), star);
  if (omit != draft.omit.end()) {
    out.push_back({grade::warning, "fingerprint_omit",
                   quoted(*omit) +
                       ": a JSON Pointer has no wildcard, \"*\" is the name of a member, and this "
                       "leaves out nothing; name the whole list, or an index"});
  }
  const auto pick = std::find_if(draft.pick.begin(), draft.pick.end(), star);
  if (pick != draft.pick.end()) {
    out.push_back({grade::fault, "fingerprint_pick",
                   quoted(*pick) +
                       ": a JSON Pointer has no wildcard, \"*\" is the name of a member, and what "
                       "is not picked may differ between two requests with one key; name the "
                       "whole list, or an index"});
  }
}

}  // namespace

void add_pitfalls(const policy_draft& draft, std::string_view path, remarks& out) {
  pitfalls found;
  each_source(draft.policy.scope, [&](const auto& scope) { scope_of_one_try(scope, found); });
  probe_statuses(draft, found);
  constant_key(draft, path, found);
  nothing_guarded(draft, found);
  no_wildcards(draft, found);
  for (const auto& one : found) {
    const auto known = draft.origins.find(one.option);
    const auto position = known == draft.origins.end() ? origin{} : known->second;
    const std::string title = position.of_route() ? "[[route]] " : "[defaults] ";
    out.push_back({one.weight, position, title + std::string(one.option) + ": " + one.text});
  }
}

void add_outcome_pitfalls(const route_policy& policy, policy_remarks& out) {
  const auto rule = [](const auto& map, std::uint16_t number) {
    const auto found = map.find(number);
    return found == map.end() ? outcome_rule::unknown : found->second;
  };
  const auto again = [](outcome_rule r) {
    return r == outcome_rule::release || r == outcome_rule::fail;
  };
  bool after_effect = again(rule(policy.outcome_class, 5));
  bool after_success = again(rule(policy.outcome_class, 2));
  bool after_redirect = again(rule(policy.outcome_class, 3));
  for (const auto& [status, meaning] : policy.outcome_status) {
    const bool harmless = status == 501 || status == 503;
    after_effect = after_effect || (again(meaning) && status >= 500 && !harmless);
    after_success = after_success || (again(meaning) && status / 100 == 2);
    after_redirect = after_redirect || (again(meaning) && status / 100 == 3);
  }
  const bool left_empty = out.given("outcome") && policy.outcome_status.empty() &&
                          policy.outcome_class.empty() && policy.outcome_parts.empty();
  if (policy.keep != keep_rule::all && !policy.outcome_status.contains(503) &&
      !policy.outcome_class.contains(5) && !left_empty) {
    out.note(
        {"outcome"},
        "a 503 means that nothing was done, but one with the sign of a proxy (`Via`, "
        "`X-Varnish`, `Server: envoy` …) counts as unknown; behind a balancer without such a "
        "sign that answers 503 when a request was sent already, set "
        "{ \"503\" = \"unknown\" }; where none does, { \"503\" = \"release\" }; {} in the file "
        "keeps it so");
  }
  if (after_effect) {
    out.warn({"outcome"},
             "a 5xx may come after the effect; with \"release\" or \"fail\" a repeat runs again");
  }
  const auto& parts = policy.outcome_parts;
  const bool any_failure = std::any_of(parts.begin(), parts.end(), [&](const answer_part& part) {
    return part.value.empty() && again(part.meaning);
  });
  if (any_failure) {
    out.warn({"outcome"},
             "a rule on a part without a value also fits what failed after the effect; with "
             "\"release\" or \"fail\" a repeat runs again");
  }
  if (after_success) {
    out.warn({"outcome"},
             "a 2xx says that it took effect; with \"release\" or \"fail\" a repeat runs again");
  }
  if (after_redirect) {
    out.warn(
        {"outcome"},
        "services answer 303 and 302 once it took effect; with \"release\" or \"fail\" a repeat "
        "runs again; a redirect that clients follow with the same key needs no rule");
  }
}

void add_operation_pitfalls(const route_policy& policy, policy_remarks& out) {
  if (policy.effect == effect_rule::transactional && out.given("unknown")) {
    out.warn({"unknown"}, "not used with effect = \"transactional\": what is unknown runs again");
  }
  if (policy.unknown == unknown_policy::rerun) {
    out.warn({"unknown"}, "\"rerun\" promises at least once after a crash, not once");
  }
  if (policy.store_failure == store_failure_rule::open) {
    out.warn({"store_failure"}, "\"open\" promises at least once while the store is out of reach");
  }
}

void add_promise_pitfalls(const route_policy& policy, policy_remarks& out) {
  if (policy.observe) {
    out.warn({"observe"}, "nothing is guarded: every repeat runs again, and is only counted");
  }
  add_operation_pitfalls(policy, out);
  if (policy.fingerprint.kind == fingerprint_kind::none) {
    out.warn({"fingerprint"},
             "with \"none\" a key that is used again with another body gets the first answer");
  }
  if (policy.required && policy.methods.empty()) {
    out.fault({"required", "methods"}, "no method is guarded, so no key can be required");
  }
}

}  // namespace onceguard::config
