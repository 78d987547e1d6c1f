#include <algorithm>
#include <map>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "core/application_scope.hpp"
#include "engine/background.hpp"
#include "gateway/io_thread.hpp"
#include "http/request_target.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

constexpr std::size_t page_size = 16;  // small, as each record comes with its answer
constexpr std::size_t records_max = 10'000;
constexpr milliseconds pause_between{2};

bool has_kind(const scope_rule& rule, std::string_view kind) {
  if (rule.source == scope_source::several) {
    constexpr std::string_view joint = " + ";
    for (const auto& part : rule.parts) {
      const auto end = kind.find(joint);
      if (!has_kind(part, kind.substr(0, end))) return false;
      kind = end == kind.npos ? std::string_view{} : kind.substr(end + joint.size());
    }
    return kind.empty();
  }
  const bool credential = rule.source == scope_source::credential;
  const bool knows_nobody = credential || rule.source == scope_source::auth_param;
  return kind == rule.text() || (credential && kind == "certificate") ||
         (knows_nobody && kind == "anonymous");
}

/// The beginning of the kinds of scope that deliveries have. A route that takes them has no other
/// scope, and previous_scope can't name one of these.
constexpr std::string_view of_deliveries = "webhook:";

/// Whether a retry finds a record under this kind of scope.
bool finds_under(const route_params& rule, std::string_view kind) {
  if (rule.webhook) return kind == std::string(of_deliveries) + rule.webhook->name();
  const auto& policy = rule.policy;
  const auto& former = policy.previous_scope;
  return has_kind(policy.scope, kind) || std::any_of(former.begin(), former.end(), [&](auto& once) {
           return has_kind(once, kind);
         });
}

/// The identity that this upstream had in `before`; empty: the same identity, or the upstream is
/// new.
std::string identity_before(const upstream_params& now, const routing_table& before) {
  std::string out;
  for (const auto& r : before.routes()) {
    if (r.upstream->address != now.address || r.upstream->base_path != now.base_path) continue;
    if (r.upstream->identity == now.identity) return {};
    out = r.upstream->identity;
  }
  return out;
}

/// The rule that a retry of the record's request would match.
const route* rule_of(const subject& about, const routing_table& table) {
  const std::string_view name = about.route;
  return table.match(name.substr(0, name.find('/')), http::normalise_path(about.path),
                     about.method);
}

std::string text_of(const std::vector<key_source>& sources) {
  std::string out;
  for (const auto& one : sources) {
    auto text = one.text();
    if (one.location == key_location::header) {  // whose case does not count
      std::transform(text.begin(), text.end(), text.begin(), base::ascii_lower);
    }
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

/// No record says where its key was.
void compare_keys(const route& now, const routing_table& before) {
  const auto former = std::find_if(
      before.routes().begin(), before.routes().end(),
      [&](const auto& one) { return one.name == now.name && one.rule.method == now.rule.method; });
  if (former == before.routes().end() || former->rule.webhook || now.rule.webhook) return;
  auto was = text_of(former->rule.policy.key);
  auto is = text_of(now.rule.policy.key);
  // A further place changes nothing for who uses the former one.
  if (was == is || is.starts_with(was + ", ")) return;
  base::log(base::event::key_source_changed,
            {{"route", now.name},
             {"before", was},
             {"key", is},
             {"hint",
              "a repeat of what was run before has another key now, and runs a second time; name "
              "the former place first in key until the retention of its records is over"}});
}

class stranded {
 public:
  stranded(const routing_table& table, const routing_table* before) {
    for (const auto& r : table.routes()) {
      if (before == nullptr) continue;
      compare_keys(r, *before);
      if (auto first = identity_before(*r.upstream, *before); !first.empty()) {
        renamed_[r.upstream].before = std::move(first);
      }
    }
  }

  void count(const subject& about, const routing_table& table) {
    // Keys of applications are none of a route's.
    if (is_of_applications(about)) return;
    const auto* rule = rule_of(about, table);
    if (rule == nullptr) return;
    if (!finds_under(rule->rule, about.scope_kind)) ++moved_[{rule, about.scope_kind}];
    if (const auto found = renamed_.find(rule->upstream); found != renamed_.end()) {
      ++found->second.records;
    }
  }

  void tell(bool all) const {
    for (const auto& [moved, records] : moved_) {
      const auto& rule = moved.first->rule;
      const bool deliveries = rule.webhook || moved.second.starts_with(of_deliveries);
      base::log(base::event::scope_changed,
                {{"route", rule.host + rule.path},
                 {"records", records},
                 {"more", !all},
                 {"under", moved.second},
                 {"scope", rule.webhook ? std::string(of_deliveries) + rule.webhook->name()
                                        : rule.policy.scope.text()},
                 {"hint",
                  deliveries ? "their keys are not known again, so that what comes again runs a "
                               "second time; set webhook of this route to what it was"
                             : "their keys are not known again, so that a retry runs a second "
                               "time; set previous_scope of this route to the scope that it had"}});
    }
    for (const auto& [upstream, was] : renamed_) {
      if (was.records == 0) continue;
      base::log(
          base::event::upstream_renamed,
          {{"upstream", upstream->name},
           {"records", was.records},
           {"more", !all},
           {"before", was.before},
           {"hint",
            "retries of their keys get 422; set identity of this upstream to what it was before"}});
    }
  }

 private:
  struct renaming {
    std::string before;
    std::size_t records = 0;
  };
  std::map<std::pair<const route*, std::string>, std::size_t> moved_;
  std::map<const upstream_params*, renaming> renamed_;
};

}  // namespace

asio::awaitable<void> report_stranded(io_thread& thread, routing_ptr before) {
  const auto table = thread.routing;
  stranded found(*table, before.get());
  auto& records = thread.shared.engine.records();
  const list_filter all;
  std::size_t seen = 0;
  std::string cursor;
  for (bool more = true; more;) {
    const auto page =
        co_await records.list(all, cursor, page_size, thread.shared.params.store_timeout);
    if (thread.shared.draining || thread.routing != table) co_return;
    if (!page && !page.error().retryable()) {
      base::log(base::event::scopes_not_compared, {{"why", page.error().detail}});
      co_return;
    }
    if (!page) {  // the store monitor logs the error; this scan continues when the store is back
      co_await sleep_for(milliseconds(1'000));
      continue;
    }
    for (const auto& one : page->records) {
      const auto& about = one.stored.about;
      if (about && one.state != observed_state::released) found.count(*about, *table);
    }
    seen += page->records.size();
    cursor = page->cursor;
    more = !cursor.empty() && seen < records_max;
    if (more) co_await sleep_for(pause_between);
  }
  found.tell(cursor.empty());
}

}  // namespace onceguard::gateway
