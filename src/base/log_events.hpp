// The events of the log: one table of their ids, levels, fields and meaning.
//
// `onceguard check --events` prints the table; docs/events.md is that page. An id never changes its
// meaning: scripts look for it. A new event stands in the enumeration and in the table.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace onceguard::base {

enum class log_level : std::uint8_t { debug, info, warning, error };

enum class event : std::uint8_t {
  // The program
  listening,
  admin_listening,
  stopped,
  stopped_early,
  start_failed,
  store_not_opened,
  store_opened,
  too_few_descriptors,
  configuration,
  reloaded,
  reload_refused,
  admin_tokens_refused,
  restart_needed,
  file_read_again,
  file_refused,
  signal_ignored,
  log_file_reopened,
  log_file_not_reopened,
  draining,
  drained,
  background_work_failed,
  records_not_counted,
  log_lines_dropped,
  spans_not_sent,
  trace_variable_ignored,
  lines_left_out,
  accept_failed,
  // Requests
  request,
  anonymous_scope,
  answer_not_kept,
  buffers_full,
  overloaded,
  outcome_unknown,
  upstream_unreachable,
  upstream_broken,
  upstream_timeout,
  upstream_ends_kept_connections,
  proxy_answered,
  empty_body_refused,
  unguarded_run,
  observed,
  store_refused,
  other_scope,
  maybe_repeated,
  record_unreadable,
  probed,
  probe_failed,
  // Messages
  consuming,
  consumed,
  broker_connected,
  broker_away,
  message,
  message_failed,
  message_unknown,
  message_dead,
  message_not_settled,
  messages_given_back,
  consume_circuit_open,
  consume_circuit_closed,
  message_last_delivery,
  message_dropped,
  queue_row_unreadable,
  queue_rows_parked,
  handler_output,
  handler_output_cut,
  // Outboxes
  relaying,
  relay_ended,
  outbox_connected,
  outbox_away,
  relayed,
  relay_failed,
  relay_dead,
  relay_given_back,
  relay_circuit_open,
  relay_circuit_closed,
  relay_waits,
  // Leases and settles
  lease_not_renewed,
  lease_dropped,
  lease_over,
  leases_given_up,
  lease_not_given_up,
  hook_threw,
  settle_failed,
  settled_late,
  settle_was_stale,
  settle_given_up,
  settled_a_record_that_was_gone,
  claim_not_followed_up,
  // The store
  store_poll_failed,
  store_away,
  store_back,
  store_server_away,
  store_server_back,
  store_lost_its_memory,
  store_older_copy,
  witness_not_written,
  sweep_failed,
  stored_record_unreadable,
  clock_stepped,
  clock_confirmed,
  server_clock_stepped,
  commit_not_replicated,
  store_behind_pooler,
  store_masters,
  restart_loss,
  eviction_policy_unknown,
  keys_evicted,
  acknowledged_writes_lost,
  subscription_refused,
  checkpoint_failed,
  reserve_used,
  store_file_replaced,
  read_pass_failed,
  page_unreadable,
  transaction_failed,
  // The accelerator
  accelerator_opened,
  accelerator_away,
  accelerator_back,
  accelerator_unusable,
  accelerator_poll_ended,
  epoch_ended,
  // Reconciling and reload
  reconciled,
  audit,
  audit_not_written,
  query_not_asked,
  reconcile_broke_off,
  scope_changed,
  key_source_changed,
  upstream_renamed,
  scopes_not_compared,
};

struct event_info {
  event id;
  std::string_view name;    ///< with hyphens: how the log and the docs call it
  log_level level;          ///< unless the place that logs the event says otherwise
  bool recurring;           ///< may come with each request of an outage: some lines may be left out
  std::string_view fields;  ///< in their order, with spaces between
  std::string_view meaning;  ///< for operators: what happened, and what to do
  std::string_view section;
};

/// All events, in the order of the enumeration.
[[nodiscard]] std::span<const event_info> events() noexcept;
[[nodiscard]] const event_info& info_of(event id) noexcept;
[[nodiscard]] std::string_view name_of(log_level level) noexcept;

}  // namespace onceguard::base
