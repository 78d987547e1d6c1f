// The options of [gateway] and [log].
#include "config/all_options.hpp"
#include "config/monitoring_values.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string problem_base_complaint(std::string_view value) {
  const bool scheme =
      value.starts_with("urn:") || value.starts_with("http://") || value.starts_with("https://");
  bool plain = true;
  for (const char c : value) plain = plain && c > 0x20 && c < 0x7f && c != '"' && c != '\\';
  if (scheme && plain) return {};
  return "expected the beginning of a URI such as \"https://docs.example.com/problems/\", got " +
         quoted_url(value);
}

std::string path_complaint(std::string_view value) {
  return value.find('\0') == std::string_view::npos ? std::string()
                                                    : "a path can't hold a NUL byte";
}

constexpr std::array<std::string_view, 3> access_log_words{"guarded", "all", "off"};
constexpr std::array<std::string_view, 2> sandbox_words{"auto", "off"};
constexpr std::array<std::string_view, 4> level_words{"debug", "info", "warning", "error"};
constexpr std::array<std::string_view, 3> log_format_words{"auto", "text", "json"};

const row<settings> gateway_table[]{
    {{.name = "listen",
      .flag = "listen",
      .fallback = "127.0.0.1:8080",
      .example = "0.0.0.0:8080",
      .text = "Where the gateway takes connections. Port 0 takes a free one.",
      .complaint = refusal_of<parse_endpoint>},
     [](settings& s, const option_value& v) { s.gateway.listen = *parse_endpoint(text(v)); }},
    {{.name = "threads",
      .flag = "threads",
      .kind = value_kind::integer,
      .fallback = "0",
      .text = "I/O threads; 0: one per core.",
      .max = 256},
     assign<&settings::gateway, &gateway::gateway_params::threads>},
    {{.name = "admin",
      .flag = "admin",
      .example = "127.0.0.1:8081",
      .text = "Where health, metrics and the admin API listen: `HOST:PORT`, or `unix:PATH` for a "
              "Unix socket of this user alone. Empty: nowhere.",
      .may_be_empty = true,
      .complaint = refusal_of<base::parse_server_address>},
     [](settings& s, const option_value& v) {
       s.admin.enabled = !text(v).empty();
       if (s.admin.enabled) s.admin.address = *base::parse_server_address(text(v));
     }},
    {{.name = "admin_token_file",
      .flag = "admin-token-file",
      .example = "/etc/onceguard/admin.tokens",
      .text = "Who may use the admin listener: a line each, `operator TOKEN` or `viewer TOKEN`, "
              "and a name for the audit log if wanted. A viewer reads; an operator also acts. "
              "Only the file's owner and group may read it. SIGHUP reads it again. Needed where "
              "`admin` is neither a loopback address nor a Unix socket. Empty: everybody who "
              "reaches `admin` is an operator.",
      .may_be_empty = true,
      .complaint = path_complaint},
     assign<&settings::admin, &admin::admin_params::token_file>},
    {{.name = "admin_page",
      .flag = "admin-page",
      .kind = value_kind::boolean,
      .fallback = "true",
      .text = "Whether `admin` serves a web page at `/`."},
     assign<&settings::admin, &admin::admin_params::page>},
    {{.name = "prometheus_url",
      .flag = "prometheus-url",
      .example = "http://prometheus.internal:9090",
      .text = "A Prometheus that has the metrics of `admin`: `admin` asks it for what the page "
              "shows beyond the last hour. Empty: the page shows the last hour.",
      .may_be_empty = true,
      .complaint = prometheus_url_complaint},
     [](settings& s, const option_value& v) {
       s.admin.prometheus.reset();
       if (!text(v).empty()) s.admin.prometheus = *parse_web_url(text(v));
     }},
    {{.name = "prometheus_labels",
      .flag = "prometheus-labels",
      .example = "job=\"onceguard\",env=\"production\"",
      .text = "Which series of `prometheus_url` are meant, as PromQL has it between braces; those "
              "of several gateways are added up. Empty: all that there are.",
      .may_be_empty = true,
      .complaint = label_matchers_complaint},
     assign<&settings::admin, &admin::admin_params::prometheus_labels>},
    {{.name = "trace_url",
      .flag = "trace-url",
      .example = "https://jaeger.internal/trace/{trace_id}",
      .text = "Where a person looks at a trace: the page links to it, with the trace's id in the "
              "place of `{trace_id}`. Empty: no links.",
      .may_be_empty = true,
      .complaint = trace_url_complaint},
     assign<&settings::admin, &admin::admin_params::trace_url>},
    {{.name = "metrics_records_interval",
      .flag = "metrics-records-interval",
      .kind = value_kind::duration,
      .fallback = "1m",
      .text = "Between two counts of the records by state, for the metrics. A count goes "
              "through the store piece by piece, with pauses. Empty: none.",
      .min = second,
      .max = day,
      .may_be_empty = true},
     assign<&settings::admin, &admin::admin_params::records_interval>},
    {{.name = "access_log",
      .flag = "access-log",
      .kind = value_kind::choice,
      .fallback = "guarded",
      .text = "Which requests get a line in the log when they are over: `guarded` leaves out "
              "those that are passed on without a key or whose method is not guarded. See "
              "`docs/access-log.md`.",
      .choices = access_log_words},
     assign<&settings::log, &log_params::access>},
    {{.name = "log_file",
      .flag = "log-file",
      .example = "/var/log/onceguard/gateway.log",
      .text = "A file for the log of the gateway. Lines are appended; SIGUSR1 opens the file "
              "anew, for log rotation. Empty: standard error.",
      .may_be_empty = true,
      .complaint = path_complaint},
     assign<&settings::log, &log_params::file>},
    {{.name = "max_connections",
      .flag = "max-connections",
      .kind = value_kind::integer,
      .fallback = "10000",
      .text = "Client connections at once; more get 503 and are closed.",
      .min = 1,
      .max = 1'000'000},
     assign<&settings::gateway, &gateway::gateway_params::max_connections>},
    {{.name = "max_buffered",
      .flag = "max-buffered",
      .kind = value_kind::size,
      .fallback = "256MiB",
      .text = "Memory for bodies, answers, replays and settles that wait, all together. Where "
              "the longest answer of a route would not fit any more, new claims get 503; "
              "requests that are still to come get it from half of this on, large replays from "
              "three quarters on.",
      .min = 64 * kib,
      .max = 1024 * gib},
     assign<&settings::gateway, &gateway::gateway_params::max_buffered>},
    {{.name = "replay_cache",
      .flag = "replay-cache",
      .kind = value_kind::size,
      .fallback = "16MiB",
      .text = "Memory for answers that are replayed without asking the store; 0: none.",
      .max = 64 * gib},
     assign<&settings::gateway, &gateway::gateway_params::replay_cache>},
    {{.name = "settle_wait",
      .flag = "settle-wait",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long an answer is held back while the store can't be reached to say that "
              "the work took effect. After it the client gets 503.",
      .max = 10 * minute},
     assign<&settings::gateway, &gateway::gateway_params::settle_wait>},
    {{.name = "drain",
      .flag = "drain",
      .kind = value_kind::duration,
      .fallback = "25s",
      .text = "After SIGTERM: how long running requests may take to finish. Leases that are "
              "left then are abandoned. A request that is still coming has a second of it, an "
              "upload that is passed on as it comes a fifth. The default leaves time within the "
              "30 s that Kubernetes waits before it kills; Docker waits 10 s unless told "
              "otherwise (`stop_grace_period`, `docker stop -t 30`).",
      .max = 24 * hour},
     assign<&settings::gateway, &gateway::gateway_params::drain>},
    {{.name = "drain_delay",
      .flag = "drain-delay",
      .kind = value_kind::duration,
      .fallback = "0s",
      .text = "After SIGTERM: how long requests are still taken while `/readyz` says not ready, "
              "so that a balancer that asks it sends nothing more. `drain` begins after it.",
      .max = hour},
     assign<&settings::gateway, &gateway::gateway_params::drain_delay>},
    {{.name = "problem_base",
      .flag = "problem-base",
      .fallback = "urn:onceguard:problem:",
      .example = "https://docs.example.com/problems/",
      .text = "What stands before the name of a problem in the `type` of an error.",
      .complaint = problem_base_complaint},
     assign<&settings::gateway, &gateway::gateway_params::problem_base>},
    {{.name = "state_dir",
      .flag = "state-dir",
      .example = "/var/lib/onceguard",
      .text = "A directory for the witness of the store's identity, by which a restarted "
              "gateway notices that the store lost its memory. Where nothing can be written "
              "there the gateway does not start. Empty: none.",
      .may_be_empty = true,
      .complaint = path_complaint},
     assign<&settings::gateway, &gateway::gateway_params::state_dir>},
    {{.name = "audit_log",
      .flag = "audit-log",
      .example = "/var/log/onceguard/audit.jsonl",
      .text = "A file to which each change of a record by a person or by reconcile is appended, "
              "as a JSON line before the change and one after it. What can't be written there "
              "is not changed. Empty: the events `audit` of the log.",
      .may_be_empty = true,
      .complaint = path_complaint},
     assign<&settings::gateway, &gateway::gateway_params::audit_log>},
    {{.name = "sandbox",
      .flag = "sandbox",
      .kind = value_kind::choice,
      .fallback = "auto",
      .text = "`auto`: `gateway`, `serve`, `relay`, and `consume` without a `command`, can write "
              "only where this file says that they write, and run no program, as far as the kernel "
              "has Landlock and seccomp. `off`: they may do what their user may.",
      .choices = sandbox_words},
     [](settings& s, const option_value& v) { s.sandbox = number(v) == 0; }},
    {{.name = "trusted_proxies",
      .flag = "trusted-proxies",
      .kind = value_kind::list,
      .example = "127.0.0.1,10.0.0.0/8",
      .text = "Addresses and blocks whose `X-Forwarded-*` and `Forwarded` headers are "
              "trusted. The scope `address` reads `X-Forwarded-For` alone, so they "
              "have to send that header.",
      .complaint = refusal_of<parse_network>},
     assign<&settings::gateway, &gateway::gateway_params::trusted_proxies>},
    {{.name = "max_header_bytes",
      .flag = "max-header-bytes",
      .kind = value_kind::size,
      .fallback = "64KiB",
      .text = "A message's start line and headers; longer ones get 431.",
      .min = kib,
      .max = mib},
     assign<&settings::gateway, &gateway::gateway_params::max_header_bytes>},
    {{.name = "max_header_count",
      .flag = "max-header-count",
      .kind = value_kind::integer,
      .fallback = "100",
      .text = "Header fields of a message; more get 431.",
      .min = 8,
      .max = 10'000},
     assign<&settings::gateway, &gateway::gateway_params::max_header_count>},
    {{.name = "header_timeout",
      .flag = "header-timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "From the first byte of a request's head to its last.",
      .min = 100,
      .max = hour},
     assign<&settings::gateway, &gateway::gateway_params::header_timeout>},
    {{.name = "body_timeout",
      .flag = "body-timeout",
      .kind = value_kind::duration,
      .fallback = "30s",
      .text = "Between two pieces of a request's body; after it 408.",
      .min = 100,
      .max = hour},
     assign<&settings::gateway, &gateway::gateway_params::body_timeout>},
    {{.name = "idle_timeout",
      .flag = "idle-timeout",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "How long a kept-alive or tunnelled connection may be without traffic.",
      .min = 100,
      .max = 24 * hour},
     assign<&settings::gateway, &gateway::gateway_params::idle_timeout>},
    {{.name = "connect_timeout",
      .flag = "connect-timeout",
      .kind = value_kind::duration,
      .fallback = "5s",
      .text = "For a connection to the upstream: for looking up its host name and for all of its "
              "addresses together.",
      .min = 10,
      .max = hour},
     assign<&settings::gateway, &gateway::gateway_params::connect_timeout>},
    {{.name = "write_timeout",
      .flag = "write-timeout",
      .kind = value_kind::duration,
      .fallback = "30s",
      .text = "For a peer that does not take what is sent to it.",
      .min = 100,
      .max = hour},
     assign<&settings::gateway, &gateway::gateway_params::write_timeout>},
    {{.name = "min_client_rate",
      .flag = "min-client-rate",
      .kind = value_kind::size,
      .fallback = "1KiB",
      .text = "Bytes a second, on average, that a client must send of a request's "
              "body once it was waited for as long as `body_timeout`, and take of a "
              "stored answer after `write_timeout`; 0: any. Only the time in which "
              "the gateway waited for the client counts.",
      .max = gib},
     assign<&settings::gateway, &gateway::gateway_params::min_client_rate>},
    {{.name = "max_hops",
      .flag = "max-hops",
      .kind = value_kind::integer,
      .fallback = "8",
      .text = "How many gateways of Onceguard a request may have come through, as its "
              "`Via` says. Beyond it an upstream seems to lead back: 508.",
      .min = 1,
      .max = 100},
     assign<&settings::gateway, &gateway::gateway_params::max_hops>},
    {{.name = "max_waiters",
      .flag = "max-waiters",
      .kind = value_kind::integer,
      .fallback = "10000",
      .text = "Requests that `on_busy = \"wait\"` may hold at once; more get 409.",
      .max = 1'000'000},
     assign<&settings::gateway, &gateway::gateway_params::max_waiters>},
};

const row<settings> log_table[]{
    {{.name = "level",
      .flag = "log-level",
      .kind = value_kind::choice,
      .fallback = "info",
      .text = "The least important lines that are written, to standard error or `log_file`.",
      .choices = level_words},
     assign<&settings::log, &log_params::level>},
    {{.name = "format",
      .flag = "log-format",
      .kind = value_kind::choice,
      .fallback = "auto",
      .text = "`text` for people, `json` with one object per line, or `auto`: text on a "
              "terminal, JSON otherwise.",
      .choices = log_format_words},
     assign<&settings::log, &log_params::format>},
};

}  // namespace

std::span<const row<settings>> gateway_rows() {
  static const auto all = [] {
    std::vector<row<settings>> joined(std::begin(gateway_table), std::end(gateway_table));
    joined.insert(joined.end(), tls_rows().begin(), tls_rows().end());
    return joined;
  }();
  return all;
}
std::span<const row<settings>> log_rows() { return log_table; }

}  // namespace onceguard::config
