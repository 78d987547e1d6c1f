#include "config/policy/policy_check.hpp"

#include <algorithm>

#include <onceguard/fingerprint.hpp>

#include "base/field.hpp"
#include "config/policy/pitfalls.hpp"
#include "config/policy/policy_remarks.hpp"
#include "config/policy/profiles.hpp"
#include "config/table/parsers.hpp"
#include "config/table/scope_sources.hpp"
#include "http/error_forms.hpp"
#include "http/kept_parts.hpp"

namespace onceguard::config {

namespace {

class checker : private policy_remarks {
 public:
  checker(front_door door, policy_draft& draft, remarks& out)
      : policy_remarks(draft, out), door_(door), draft_(draft), policy_(draft.policy) {}

  void run() {
    apply_profile(draft_);
    errors();
    scope();
    key();
    fingerprint();
    probe();
    times();
    add_outcome_pitfalls(policy_, *this);
    answers();
    add_promise_pitfalls(policy_, *this);
  }

  void run_operation() {
    times();
    answers();
    if (policy_.unknown == unknown_policy::probe && where("unknown").of_route()) {
      fault({"unknown"},
            "an operation by its parts has nobody to ask: it is \"hold\" or \"rerun\"");
    }
    add_operation_pitfalls(policy_, *this);
  }

 private:
  void key() {
    const auto& sources = policy_.key;
    if (sources.empty()) {
      fault({"key"},
            "expected a header field, \"path:N\", \"json:/pointer\" or \"content\", got an empty "
            "list");
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      switch (sources[i].location) {
        case key_location::header:
          each_source(policy_.scope, [&](const scope_rule& one) {
            if (one.source == scope_source::header &&
                base::same_name(one.name, sources[i].header)) {
              fault({"key", "scope"}, "the key can't be its own scope");
            }
          });
          break;
        case key_location::path:
          path_key();
          break;
        case key_location::json:
          if (policy_.observe) {
            fault({"key", "observe"},
                  "a key in the body can't be observed: it is known after the body only");
          }
          break;
        case key_location::content:
          if (i + 1 < sources.size())
            fault({"key"}, "\"content\" must be the last: every request has it");
          content_key();
          break;
      }
    }
  }

  void path_key() {
    if (policy_.methods.size() > 1) {
      warn({"key", "methods"},
           "a key belongs to one request, so with an id as the key only the first of several "
           "methods can be run: another gets 422; list one in methods");
    }
    if (policy_.key_format != key_format::uuid) {
      note({"key", "key_format"},
           "the same id on another route is the same key, and gets 422 there; where ids are "
           "UUIDs, set key_format = \"uuid\"");
    }
  }

  void content_key() {
    warn({"key"},
         "with \"content\" two requests that are meant to be two, and are the same, take effect "
         "once within retention; let clients send a key where they can");
    if (policy_.fingerprint.kind == fingerprint_kind::none) {
      fault({"key", "fingerprint"}, "\"content\" needs a fingerprint other than \"none\"");
    }
    if (policy_.observe) {
      fault({"key", "observe"}, "\"content\" can't be observed: it is known after the body only");
    }
  }

  void answers() {
    if (!policy_.keep_body && !policy_.pick.pointers.empty()) {
      fault({"answer_pick", "answer"},
            "picks values of a body, and answer = \"status\" keeps no body");
    }
    if (http::keeps_parts(policy_) && policy_.effect == effect_rule::transactional) {
      warn({policy_.pick == answer_parts{} ? "redact" : "answer_pick", "effect"},
           "an application that completes a record itself gives the answer that is kept, and has "
           "to leave out of it what is not to be kept");
    }
  }

  void errors() {
    if (policy_.errors != error_form::text) {
      if (as_near_as("error_template_file", "errors")) {
        warn({"error_template_file"}, "only used with errors = \"template\"");
      }
      return;
    }
    const auto& path = draft_.error_template_file;
    if (path.empty()) return fault({"errors"}, "\"template\" needs error_template_file");
    auto held = read_document_file(path);
    if (!held) return fault({"error_template_file"}, quoted(path) + " " + held.error().detail);
    if (auto why = http::error_text_fault(*held); !why.empty()) {
      return fault({"error_template_file"}, quoted(path) + ": " + why);
    }
    policy_.error_text = std::move(*held);
  }

  void fingerprint() {
    auto& rule = policy_.fingerprint;
    auto pick = draft_.pick;
    auto omit = draft_.omit;
    // A route's fingerprint_pick replaces fingerprint_omit of [defaults], and vice versa.
    if (!pick.empty() && !omit.empty()) {
      const bool pick_near = where("fingerprint_pick").of_route();
      const bool omit_near = where("fingerprint_omit").of_route();
      if (pick_near == omit_near) {
        fault({"fingerprint_omit", "fingerprint_pick"},
              "either fingerprint_pick or fingerprint_omit, not both");
        return;
      }
      (pick_near ? omit : pick).clear();
    }
    if (pick.empty() && omit.empty()) return;
    const std::string_view name = pick.empty() ? "fingerprint_omit" : "fingerprint_pick";
    if (rule.kind != fingerprint_kind::json) {
      if (as_near_as(name, "fingerprint")) fault({name}, "only with fingerprint = \"json\"");
      return;
    }
    rule.selection = pick.empty() ? json_selection::omit : json_selection::pick;
    rule.pointers = pick.empty() ? std::move(omit) : std::move(pick);
  }

  void probe() {
    if (door_ == front_door::service) return;  // it asks itself
    const bool asks = policy_.unknown == unknown_policy::probe;
    if (asks && policy_.probe.empty()) {
      fault({"unknown", "probe"},
            "\"probe\" needs the option probe, such as "
            "\"http://127.0.0.1:9000/outcome/{scope}/{key}\"");
    }
    if (!asks && !policy_.probe.empty() && as_near_as("probe", "unknown")) {
      warn({"probe"}, "without unknown = \"probe\", only reconcile asks there");
    }
    for (const std::string_view name : {"probe_present", "probe_absent"}) {
      auto& status = name == "probe_present" ? policy_.probe_present : policy_.probe_absent;
      if (status == 0) continue;
      if (policy_.probe_mode == probe_rule::ask) continue;
      if (as_near_as(name, "probe_mode")) fault({name}, "only with probe_mode = \"ask\"");
      status = 0;
    }
    if (policy_.probe_present != 0 && policy_.probe_present == policy_.probe_absent) {
      fault({"probe_absent", "probe_present"}, "must differ from probe_present");
    }
    if (asks && policy_.probe_mode == probe_rule::ask) {
      warn({"probe_mode"},
           "\"ask\" is weaker than \"fence\": the first attempt may still be on its way when the "
           "application says that it did not happen");
    }
  }

  void scope() {
    if (auto joined = join_scopes(draft_.scope)) {
      policy_.scope = std::move(*joined);
    } else {
      return fault({"scope"}, joined.error().detail);
    }
    each_source(policy_.scope, [&](const scope_rule& one) { source(one); });
    for (const auto& rule : policy_.previous_scope) {
      if (takes(rule, scope_source::jwt)) needs_keys("previous_scope", rule);
    }
    if (!policy_.anonymous && !takes(policy_.scope, scope_source::credential) &&
        !takes(policy_.scope, scope_source::auth_param) && as_near_as("anonymous", "scope")) {
      warn({"anonymous"}, "only scope = \"credential\" and auth-param have anonymous callers");
    }
    if (given("credential_schemes") && !takes(policy_.scope, scope_source::credential) &&
        as_near_as("credential_schemes", "scope")) {
      warn({"credential_schemes"}, "not used without scope = \"credential\"");
    }
    const auto& former = policy_.previous_scope;
    if (std::find(former.begin(), former.end(), policy_.scope) != former.end() &&
        as_near_as("previous_scope", "scope")) {
      warn({"previous_scope", "scope"},
           "has the present scope in it, which is looked under anyway");
    }
  }

  void needs_keys(std::string_view option, const scope_rule& rule) {
    if (door_ == front_door::gateway && policy_.tokens == nullptr) {
      fault({option}, "\"" + rule.text() + "\" needs keys_file of [jwt]");
    }
  }

  void source(const scope_rule& rule) {
    switch (rule.source) {
      case scope_source::credential:
        if (given("scope")) break;  // who wrote it has chosen it
        note(
            {"scope"},
            "a refreshed access token is another credential, so a retry with it is a stranger; "
            "where tokens are short-lived, take \"jwt:sub\", or \"header:NAME\" with a header that "
            "a trusted proxy sets; scope = \"credential\" in the file says that they are not");
        break;
      case scope_source::address:
        note({"scope"},
             "clients behind one proxy or NAT share an address, and a client's may change between "
             "two tries; behind a proxy of yours, list it in trusted_proxies");
        break;
      case scope_source::none:
        warn({"scope"}, "with \"none\" all callers share their keys and see one another's answers");
        break;
      case scope_source::jwt:
        needs_keys("scope", rule);
        break;
      case scope_source::header:
      case scope_source::cookie:
      case scope_source::auth_param:
      case scope_source::several:
        break;
    }
  }

  void times() {
    if (policy_.backoff > policy_.backoff_max) {
      fault({"backoff", "backoff_max"}, "must not be longer than backoff_max");
    }
    if (policy_.retention < policy_.lease) {
      warn({"retention", "lease"},
           "shorter than the lease; a client that tries again later than this runs again");
    }
    constexpr milliseconds usual_retries{3'600'000};
    if (policy_.retention >= policy_.lease && policy_.retention < usual_retries) {
      note({"retention"},
           "many clients try again for hours, senders of webhooks for days; a retry that comes "
           "later than this runs again");
    }
    if (policy_.unknown_retention.count() > 0) {
      warn({"unknown_retention"},
           "a rule to run again: a key that may have taken effect is forgotten after this, and "
           "its next repeat runs");
    }
  }

  const front_door door_;
  policy_draft& draft_;
  route_policy& policy_;
};

}  // namespace

void finish_policy(front_door door, policy_draft& draft, remarks& out) {
  checker(door, draft, out).run();
}

void finish_operation_policy(policy_draft& draft, remarks& out) {
  checker(front_door::gateway, draft, out).run_operation();
}

}  // namespace onceguard::config
