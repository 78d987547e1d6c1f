// The options of [[relay]].
#include "config/relay_options.hpp"

#include <algorithm>

#include "base/library_fault.hpp"
#include "config/all_options.hpp"
#include "config/consume_options.hpp"
#include "config/endpoint_tls.hpp"
#include "config/policy/policy_check.hpp"
#include "config/table/parsers.hpp"
#include "messaging/broker_kind.hpp"
#include "messaging/postgres_queue/queue_url.hpp"

namespace onceguard::config {

using namespace values;

namespace {

using relay::relay_params;

bool is_endpoint(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://");
}

// A URL may hold a password: messages never repeat it.
std::string outbox_complaint(std::string_view url) {
  if (auto missing = base::library_fault("libpq.so"); !missing.empty()) return missing;
  const auto parsed = messaging::postgres_queue::parse_queue_url(url);
  if (!parsed) return parsed.error().detail;
  if (parsed->outbox && !parsed->dead) return {};
  return "expected " + std::string(messaging::postgres_queue::outbox_example);
}
std::string target_complaint(std::string_view url) {
  return is_endpoint(url) ? refusal_of<parse_web_url>(url)
                          : messaging::setup_fault(url, messaging::broker_role::publisher);
}

const row<relay_params> relay_table[]{
    {{.name = "name",
      .example = "orders",
      .text = "What the relay is called in logs, metrics and the destination's "
              "list of connections.",
      .complaint = name_complaint},
     assign<&relay_params::name>},
    {{.name = "outbox",
      .example = "postgresql://127.0.0.1/shop?outbox=order_events",
      .text = "The table, as `onceguard migrate --outbox TABLE` makes it. `&hold=30s`: how long "
              "the rows of a relay that was killed wait for another one.",
      .complaint = outbox_complaint,
      .secret = true},
     assign<&relay_params::outbox>},
    {{.name = "to",
      .example = "amqp://127.0.0.1/orders",
      .text = "A broker: docs/messages.md has the URLs. Or `http://…`, or `https://…`: each "
              "message is POSTed "
              "there, with `Idempotency-Key`. 2xx is done. No connection, 429, 502 and 503 say "
              "that the endpoint is away; anything else is a refusal.",
      .complaint = target_complaint,
      .secret = true},
     [](relay_params& p, const option_value& v) {
       const auto url = text(v);
       if (is_endpoint(url)) {
         p.endpoint = *parse_web_url(url);
       } else {
         p.broker = url;
       }
     }},
    {tls_ca_option, assign<&relay_params::tls, &tls::client_files::ca>},
    {tls_certificate_option, assign<&relay_params::tls, &tls::client_files::certificate>},
    {tls_key_option, assign<&relay_params::tls, &tls::client_files::key>},
    {tls_name_option, assign<&relay_params::tls, &tls::client_files::name>},
    {{.name = "headers",
      .kind = value_kind::list,
      .example = "X-Tenant",
      .text = "Headers of a message that an endpoint gets as header fields. A "
              "broker gets all of them.",
      .complaint = message_header_complaint},
     assign<&relay_params::headers>},
    {{.name = "concurrency",
      .kind = value_kind::integer,
      .fallback = "4",
      .text = "How many batches, or requests, are on their way at the same time. "
              "Each has connections of its own.",
      .min = 1,
      .max = 1'000},
     assign<&relay_params::concurrency>},
    {{.name = "batch",
      .kind = value_kind::integer,
      .fallback = "64",
      .text = "How many messages a broker gets at once, at most. An endpoint gets "
              "each by itself.",
      .min = 1,
      .max = 1'000},
     assign<&relay_params::batch>},
    {{.name = "timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long the destination may take to confirm.",
      .min = 1,
      .max = day},
     assign<&relay_params::timeout>},
    {{.name = "attempts",
      .kind = value_kind::integer,
      .fallback = "8",
      .text = "So often the destination may refuse a message before it is dead. "
              "While it is away, nothing counts.",
      .min = 1,
      .max = 1'000'000},
     assign<&relay_params::attempts>},
    {{.name = "backoff",
      .kind = value_kind::duration,
      .fallback = "1s",
      .text = "The pause after a first refusal, or after the destination was away; it doubles "
              "with each in a row, up to `backoff_max`, or 30 seconds while it is away.",
      .min = 1,
      .max = day},
     assign<&relay_params::backoff>},
    {{.name = "backoff_max",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "The longest pause after a refusal.",
      .min = 1,
      .max = day},
     assign<&relay_params::backoff_max>},
    {{.name = "secret_file",
      .example = "/etc/onceguard/webhook.secret",
      .text = "As that of [[consume]]: requests to an endpoint are signed.",
      .may_be_empty = true},
     assign<&relay_params::secret_file>},
};

}  // namespace

std::span<const row<relay_params>> relay_rows() { return relay_table; }

std::vector<relay_params> read_relays(const reading& source, const node* tables, remarks& out) {
  std::vector<relay_params> all;
  if (tables == nullptr) return all;
  const auto known = specs_of(relay_rows());
  for (const auto& table : tables->items) {
    const auto say = [&](remark::grade weight, const char* fault) {
      out.push_back({weight,
                     {layer::route, source.file, table.line, table.column},
                     std::string("[[relay]] ") + fault});
    };
    const auto found = read_table(source, known, table, "[[relay]]", layer::route, out);
    auto& params = all.emplace_back();
    apply(relay_rows(), default_settings(source, known), params);
    apply(relay_rows(), found, params);
    params.backoff_max = std::max(params.backoff, params.backoff_max);
    const auto has = [&](std::string_view name) {
      return std::any_of(found.begin(), found.end(),
                         [&](const setting& one) { return one.spec->name == name; });
    };
    if (!has("name")) say(remark::grade::fault, "name: missing");
    if (!has("outbox")) say(remark::grade::fault, "outbox: missing");
    if (!has("to")) say(remark::grade::fault, "to: missing");
    check_endpoint_files(
        {params.endpoint && params.endpoint->address.secure, params.tls, params.secret_file},
        {layer::route, source.file, table.line, table.column}, "[[relay]]", out);
    if (!params.secret_file.empty() && !params.broker.empty()) {
      say(remark::grade::warning, "secret_file: not used with a broker");
    }
  }
  return all;
}

}  // namespace onceguard::config
