// All events of the log: names, levels, fields and meanings.
#include "base/log_event_table.hpp"

#include <algorithm>
#include <array>

#include "base/log_event_table_messages.hpp"
#include "base/log_event_table_reload.hpp"

namespace onceguard::base {
namespace {

using enum log_level;

constexpr bool once = false;
constexpr bool recurring = true;

constexpr std::string_view about_program = "The program";
constexpr std::string_view about_requests = "Requests";
constexpr std::string_view about_leases = "Leases and settles";
constexpr std::string_view about_store = "The store";
constexpr std::string_view about_accelerator = "The accelerator";

constexpr std::array before_messages{
    event_info{event::listening, "listening", info, once, "address store upstreams version",
               "The gateway takes requests.", about_program},
    event_info{event::admin_listening, "admin-listening", info, once, "address",
               "Health, metrics and the admin API answer there.", about_program},
    event_info{event::stopped, "stopped", info, once, "", "The gateway ended after a drain.",
               about_program},
    event_info{event::stopped_early, "stopped-early", warning, once, "",
               "A second SIGINT ended the process before all that ran was done.", about_program},
    event_info{event::start_failed, "start-failed", error, once, "why",
               "The gateway could not start. The reason says what to change.", about_program},
    event_info{
        event::store_not_opened, "store-not-opened", error, once, "store why for_ms hint",
        "The store could not be opened. The gateway tries again until it opens, says so each "
        "minute, and refuses guarded requests with 503 until then. The reason says what is "
        "missing: a server, a schema, a right, a directory. A store that is damaged is not "
        "tried again: mend it as the reason says, and start the gateway again. Where the URL "
        "can't be right, the gateway ends with 3.",
        about_program},
    event_info{event::store_opened, "store-opened", info, once, "store after_ms",
               "A store that could not be opened at the start is open, and guarded requests run.",
               about_program},
    event_info{event::too_few_descriptors, "too-few-descriptors", warning, once, "limit needed",
               "The process may open fewer files than max_connections needs. Raise the "
               "limit (ulimit -n, LimitNOFILE), or lower max_connections.",
               about_program},
    event_info{event::configuration, "configuration", warning, once, "at remark",
               "What the configuration's check has to say about a line.", about_program},
    event_info{event::reloaded, "reloaded", info, once, "by",
               "The new configuration is in force, by SIGHUP or the name behind a token.",
               about_program},
    event_info{event::reload_refused, "reload-refused", error, once, "",
               "The new configuration or token file has faults, logged before. The old stays.",
               about_program},
    event_info{event::admin_tokens_refused, "admin-tokens-refused", error, once, "why",
               "SIGHUP: admin_token_file is wrong. The old tokens stay in force.", about_program},
    event_info{event::restart_needed, "restart-needed", warning, once, "option",
               "SIGHUP: this option is only read at a start.", about_program},
    event_info{event::file_read_again, "file-read-again", info, once, "path",
               "A file of keys or certificates has changed, and the new content is in force.",
               about_program},
    event_info{event::file_refused, "file-refused", error, once, "path why",
               "A changed file of keys or certificates can't be used. The old stays in force.",
               about_program},
    event_info{event::signal_ignored, "signal-ignored", info, once, "signal",
               "The gateway has no use for this signal.", about_program},
    event_info{event::log_file_reopened, "log-file-reopened", info, once, "path",
               "SIGUSR1: lines go to the file that has the path now; also for the audit log.",
               about_program},
    event_info{event::log_file_not_reopened, "log-file-not-reopened", error, once, "path why",
               "SIGUSR1: the file can't be opened. Lines go to the former one.", about_program},
    event_info{event::draining, "draining", info, once, "at_most delay by",
               "After the delay no new requests are taken, and the running ones and acts are "
               "finished. Who wanted it: the signal, or the name behind a token.",
               about_program},
    event_info{event::drained, "drained", info, once, "left unrecorded runs replays incidents",
               "The drain is over, and what the process did since its start.", about_program},
    event_info{event::background_work_failed, "background-work-failed", error, once, "task why",
               "A fault of Onceguard itself. Please report it.", about_program},
    event_info{event::records_not_counted, "records-not-counted", warning, recurring, "why",
               "The store did not answer a count for the metrics; the next round tries again.",
               about_program},
    event_info{event::log_lines_dropped, "log-lines-dropped", warning, once, "count",
               "Lines that nobody read in time are missing here.", about_program},
    event_info{
        event::spans_not_sent, "spans-not-sent", warning, recurring, "collector why dropped",
        "The collector of OTEL_EXPORTER_OTLP_ENDPOINT did not take a batch of spans, which is "
        "lost; dropped counts the requests whose spans were lost since the start. "
        "Requests are not concerned. Check the collector and its address.",
        about_program},
    event_info{event::trace_variable_ignored, "trace-variable-ignored", warning, once, "remark",
               "A variable of OpenTelemetry has a value that is not used; another is expected.",
               about_program},
    event_info{event::lines_left_out, "lines-left-out", warning, once, "event_left_out count",
               "An event came so often that lines of it were left out.", about_program},
    event_info{event::accept_failed, "accept-failed", error, once, "why",
               "A connection could not be taken, mostly for want of file descriptors.",
               about_program},
    event_info{event::request, "request", info, once,
               "outcome why would_be settled reason problem status route method path record scope "
               "attempt ms claim_ms upstream_ms settle_ms upstream upstream_status client trace",
               "The access log: a request is over. See docs/access-log.md.", about_requests},
    event_info{event::anonymous_scope, "anonymous-scope", warning, once, "route hint",
               "Callers without a credential share one scope. Set a scope for the route.",
               about_requests},
    event_info{event::answer_not_kept, "answer-not-kept", warning, once, "route upstream why hint",
               "The first answer of a route that was not kept, for this reason: repeats get 409.",
               about_requests},
    event_info{event::buffers_full, "buffers-full", warning, recurring,
               "refused route used max_buffered",
               "A request was refused with 503 as max_buffered is used up.", about_requests},
    event_info{event::overloaded, "overloaded", warning, recurring, "upstream why",
               "A request was refused with 503 before anything was sent, or a connection, as "
               "max_connections are open.",
               about_requests},
    event_info{event::outcome_unknown, "outcome-unknown", warning, once,
               "route reason record upstream upstream_status",
               "A record became unknown: nobody knows whether its operation took effect. Look "
               "at what it should have done, and see onceguard keys complete and release. "
               "holder_gone: its gateway died; then this comes with the next request of the key, "
               "once from each process since its start, and onceguard keys list --attention "
               "shows it before.",
               about_requests},
    event_info{event::upstream_unreachable, "upstream-unreachable", warning, recurring,
               "upstream why", "The upstream took no connection. Nothing was sent.",
               about_requests},
    event_info{event::upstream_broken, "upstream-broken", warning, recurring, "upstream why",
               "The upstream broke off, or answered nonsense. A guarded operation is unknown now.",
               about_requests},
    event_info{event::upstream_timeout, "upstream-timeout", warning, recurring, "upstream why",
               "The upstream did not answer in time. A guarded operation is unknown now.",
               about_requests},
    event_info{event::upstream_ends_kept_connections, "upstream-ends-kept-connections", warning,
               once, "upstream hint", "The upstream ends idle connections without notice.",
               about_requests},
    event_info{event::proxy_answered, "proxy-answered", warning, recurring, "route status sign",
               "A proxy may have answered: docs/proxies.md.", about_requests},
    event_info{event::empty_body_refused, "empty-body-refused", warning, recurring,
               "upstream status hint", "The upstream refuses empty chunked bodies.",
               about_requests},
    event_info{event::unguarded_run, "unguarded-run", warning, recurring, "why",
               "The store is away, and the route has store_failure = \"open\": the request "
               "runs without a record.",
               about_requests},
    event_info{
        event::observed, "observed", info, once,
        "route requests with_key repeats repeats_run_again mismatches refused contents_repeated",
        "At the end of the process: what guarding would have done on a route with "
        "`observe = true`. docs/observing.md explains the counts.",
        about_requests},
    event_info{event::store_refused, "store-refused", error, recurring, "why",
               "A request was refused with 503 as the store is full, has lost its memory or ends.",
               about_requests},
    event_info{event::other_scope, "other-scope", warning, recurring, "route record scope before",
               "The same key and content came under another scope and ran again: a refreshed "
               "token, most likely. See docs/http.md for a scope that stays.",
               about_requests},
    event_info{event::maybe_repeated, "maybe-repeated", warning, recurring, "route record",
               "A new run may repeat an operation that the store forgot. Its record is marked.",
               about_requests},
    event_info{event::record_unreadable, "record-unreadable", error, recurring, "record why",
               "A request met a record that can't be read. See onceguard keys release --force.",
               about_requests},
    event_info{event::probed, "probed", info, once, "record status",
               "The application was asked whether an operation took effect.", about_requests},
    event_info{event::probe_failed, "probe-failed", warning, recurring, "why",
               "The application could not be asked, or its answer is not clear.", about_requests},
};

constexpr std::array before_reload{
    event_info{event::lease_not_renewed, "lease-not-renewed", warning, recurring, "why",
               "A renewal failed. It is repeated until the lease is over.", about_leases},
    event_info{event::lease_dropped, "lease-dropped", warning, once, "record",
               "Work ended without a settle: its outcome is unknown.", about_leases},
    event_info{event::lease_over, "lease-over", warning, recurring, "upstream why",
               "A request was sent in part when its lease ended. Its outcome is unknown now.",
               about_leases},
    event_info{event::leases_given_up, "leases-given-up", warning, once, "count",
               "At the end of a drain these leases were still held. They are ended.", about_leases},
    event_info{event::lease_not_given_up, "lease-not-given-up", error, once, "why",
               "A lease could not be ended. It runs out by itself, and its outcome is "
               "unknown then.",
               about_leases},
    event_info{event::hook_threw, "hook-threw", error, recurring, "change why",
               "A service's own hook threw an exception. The operation went on without it; correct "
               "the hook.",
               about_leases},
    event_info{event::settle_failed, "settle-failed", error, recurring, "record why",
               "A settle failed. It is repeated.", about_leases},
    event_info{event::settled_late, "settled-late", info, once, "record",
               "A settle that had failed was taken by the store.", about_leases},
    event_info{event::settle_was_stale, "settle-was-stale", warning, once, "record",
               "Another holder had the record when a settle came. The operation may have "
               "run twice.",
               about_leases},
    event_info{event::settle_given_up, "settle-given-up", error, once, "record why",
               "The process ended before the store took a settle: the record will be unknown.",
               about_leases},
    event_info{event::settled_a_record_that_was_gone, "settled-a-record-that-was-gone", error, once,
               "record",
               "The store or an operator had forgotten the record of a running operation. "
               "The operation may have run twice.",
               about_leases},
    event_info{
        event::claim_not_followed_up, "claim-not-followed-up", error, recurring, "record why",
        "A claim in doubt could not be resolved. Its lease runs out by itself.", about_leases},
    event_info{event::store_poll_failed, "store-poll-failed", warning, once, "why",
               "The store answered a poll with an error. After five seconds nothing is served "
               "from memory.",
               about_store},
    event_info{
        event::store_away, "store-away", error, once, "store why",
        "The store does not answer, or takes no writes. Guarded requests get 503, or run by the "
        "route's store_failure. The reason says what to mend: its server, a lock, its memory.",
        about_store},
    event_info{event::store_back, "store-back", info, once, "store after_ms failed",
               "The store answers again. So many of its calls failed meanwhile.", about_store},
    event_info{event::store_server_away, "store-server-away", info, once, "store server why",
               "A connection to the store ended, and no other is ready.", about_store},
    event_info{event::store_server_back, "store-server-back", info, once, "store server after_ms",
               "A connection to the store is ready again.", about_store},
    event_info{event::store_lost_its_memory, "store-lost-its-memory", error, once, "after_loss",
               "The store is another, older or emptied one. after_loss rules what follows: "
               "see docs/operations.md.",
               about_store},
    event_info{event::store_older_copy, "store-older-copy", error, once, "store",
               "The store is an older copy of itself. Its tokens are raised above all that "
               "were given.",
               about_store},
    event_info{event::witness_not_written, "witness-not-written", error, recurring, "path why",
               "The witness file can't be written: a restart would not notice that the "
               "store lost its memory.",
               about_store},
    event_info{event::sweep_failed, "sweep-failed", warning, once, "why",
               "A sweep failed. It is repeated at the next interval.", about_store},
    event_info{event::stored_record_unreadable, "stored-record-unreadable", error, once,
               "store record why", "A stored record can't be read. See onceguard keys list.",
               about_store},
    event_info{event::clock_stepped, "clock-stepped", warning, once, "store",
               "The wall clock stepped: nothing expires until the new time is confirmed.",
               about_store},
    event_info{event::clock_confirmed, "clock-confirmed", warning, once, "store",
               "The wall clock is confirmed: expiry goes on.", about_store},
    event_info{event::server_clock_stepped, "server-clock-stepped", error, once, "store",
               "The server's clock stepped: leases and retention end that much early or late.",
               about_store},
    event_info{event::commit_not_replicated, "commit-not-replicated", warning, once, "store why",
               "A commit did not wait for its standby. It is repeated.", about_store},
    event_info{event::store_behind_pooler, "store-behind-pooler", info, once, "store",
               "A pooler such as PgBouncer stands before the database. Settles of other "
               "processes are not announced, so waiters poll, and each statement takes a "
               "little longer. See docs/postgresql.md.",
               about_store},
    event_info{event::store_masters, "store-masters", info, once, "store servers",
               "The servers that are masters now.", about_store},
    event_info{event::restart_loss, "restart-loss", info, once, "store loss version",
               "What a restart of the server would lose. A warning where that is more than "
               "nothing.",
               about_store},
    event_info{event::eviction_policy_unknown, "eviction-policy-unknown", warning, once, "store",
               "The server does not show its maxmemory-policy. It must be noeviction.",
               about_store},
    event_info{event::keys_evicted, "keys-evicted", error, once, "store keys",
               "The server evicted keys: what they guarded may run again. Set "
               "maxmemory-policy noeviction.",
               about_store},
    event_info{event::acknowledged_writes_lost, "acknowledged-writes-lost", error, once, "store",
               "The server has lost a part of what it acknowledged, by a failover most likely.",
               about_store},
    event_info{event::subscription_refused, "subscription-refused", warning, once,
               "store channel why", "The user may not publish or subscribe: waiters have to poll.",
               about_store},
    event_info{event::checkpoint_failed, "checkpoint-failed", warning, recurring, "store why",
               "The write-ahead log could not be copied into the file. It is tried again.",
               about_store},
    event_info{event::reserve_used, "reserve-used", warning, once, "store",
               "The disk is full: the reserve file is given up for a checkpoint.", about_store},
    event_info{event::store_file_replaced, "store-file-replaced", error, once, "store",
               "The store's file was deleted or replaced while the program ran.", about_store},
    event_info{event::read_pass_failed, "read-pass-failed", warning, recurring, "store why",
               "What is stored could not be read ahead of a transaction.", about_store},
    event_info{event::page_unreadable, "page-unreadable", error, recurring, "store why code",
               "A page of the store's file can't be read. See docs/operations.md.", about_store},
    event_info{event::transaction_failed, "transaction-failed", error, recurring, "store why code",
               "A transaction failed.", about_store},
    event_info{event::accelerator_opened, "accelerator-opened", info, once, "",
               "The accelerator is in reach.", about_accelerator},
    event_info{event::accelerator_away, "accelerator-away", warning, once, "why",
               "The accelerator is out of reach. The store goes on alone.", about_accelerator},
    event_info{event::accelerator_back, "accelerator-back", info, once, "after_ms",
               "The accelerator is in reach again.", about_accelerator},
    event_info{event::accelerator_unusable, "accelerator-unusable", warning, once, "why",
               "The accelerator can't be used. The store goes on alone.", about_accelerator},
    event_info{event::accelerator_poll_ended, "accelerator-poll-ended", error, once, "why",
               "A fault of Onceguard itself: the accelerator is not polled any more. "
               "Please report it.",
               about_accelerator},
    event_info{event::epoch_ended, "epoch-ended", warning, once, "why",
               "Copies made so far are not served any more.", about_accelerator},
};

template <std::size_t... sizes>
constexpr auto joined(const std::array<event_info, sizes>&... parts) {
  std::array<event_info, (sizes + ...)> out{};
  auto next = out.begin();
  ((next = std::copy(parts.begin(), parts.end(), next)), ...);
  return out;
}
constexpr auto table = joined(before_messages, message_events, before_reload, reload_events);

constexpr bool in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].id) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table has the order of the enumeration");

}  // namespace

std::span<const event_info> event_table() noexcept { return table; }

}  // namespace onceguard::base
