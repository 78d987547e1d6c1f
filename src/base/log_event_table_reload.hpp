// The last events of the table: of reconciling, and of a configuration that is read again.
#pragma once
#include <array>
#include <string_view>

#include "base/log_events.hpp"

namespace onceguard::base {

inline constexpr auto reload_events = [] {
  using enum log_level;
  constexpr bool once = false;
  constexpr bool recurring = true;
  constexpr std::string_view about_reconciling = "Reconciling and reload";
  return std::array{
      event_info{event::reconciled, "reconciled", info, once,
                 "decided means scope key route record claimed_ms was_unknown fenced_with why",
                 "What was found out about an unknown operation.", about_reconciling},
      event_info{event::audit, "audit", info, once,
                 "stage action who means why record key from to about",
                 "A person or reconcile changes a record: the stage is intended before the change, "
                 "then what became of it. It is written at any level of the log. With audit_log, "
                 "these lines go to that file; without it, a command on a terminal writes none.",
                 about_reconciling},
      event_info{event::audit_not_written, "audit-not-written", error, recurring, "why record",
                 "A line of the audit log can't be written. Changes that are not made yet are "
                 "refused: make room for the file.",
                 about_reconciling},
      event_info{event::query_not_asked, "query-not-asked", warning, once, "why",
                 "The query of [reconcile] can't be used.", about_reconciling},
      event_info{event::reconcile_broke_off, "reconcile-broke-off", warning, once, "why",
                 "A round ended early.", about_reconciling},
      event_info{event::scope_changed, "scope-changed", error, once,
                 "route records more under scope hint",
                 "Living records stand under a scope that their route has no more: retries "
                 "would run again.",
                 about_reconciling},
      event_info{
          event::key_source_changed, "key-source-changed", error, once, "route before key hint",
          "SIGHUP: the route takes its keys elsewhere, so repeats of earlier ones run again.",
          about_reconciling},
      event_info{
          event::upstream_renamed, "upstream-renamed", error, once,
          "upstream records more before hint",
          "Living records were made for the upstream under another identity: retries get 422.",
          about_reconciling},
      event_info{event::scopes_not_compared, "scopes-not-compared", warning, once, "why",
                 "The store's records could not be compared with the routes.", about_reconciling},
  };
}();

}  // namespace onceguard::base
