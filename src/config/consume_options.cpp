// The options of [[consume]], besides those of its policy.
#include "config/consume_options.hpp"

#include <algorithm>

#include "config/all_options.hpp"
#include "config/endpoint_tls.hpp"
#include "config/policy/policy_check.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"
#include "consume/endpoint_request.hpp"
#include "messaging/broker_kind.hpp"
#include "messaging/delivery_limits.hpp"

namespace onceguard::config {

using namespace values;

namespace {

using messaging::broker_role;

constexpr std::string_view dropped = "drop";

// A broker's URL may hold a password: messages never repeat the URL.
std::string source_complaint(std::string_view url) {
  return messaging::setup_fault(url, broker_role::consumer);
}
std::string dead_letter_complaint(std::string_view url) {
  return url == dropped ? std::string() : messaging::setup_fault(url, broker_role::publisher);
}
std::string queue_complaint(std::string_view url) {
  return url.empty() ? std::string() : source_complaint(url);
}
constexpr std::array<std::string_view, 2> order_words{"skip", "stop"};

const row<consume_draft> consume_table[]{
    {{.name = "subscriber",
      .example = "billing",
      .text = "Who handles the messages. With a message's id it is the key: each subscriber "
              "handles each message once. Never rename it: the inbox would know no message.",
      .complaint = name_complaint},
     assign<&consume_draft::params, &consume::consume_params::subscriber>},
    {{.name = "shares_subscriber",
      .kind = value_kind::boolean,
      .fallback = "false",
      .text = "Several `[[consume]]` with this subscriber take messages from different queues. "
              "They know each other's ids: of two messages with the same id in two queues one "
              "is handled. Without `true` in each of them that is refused."},
     assign<&consume_draft::params, &consume::consume_params::shares_subscriber>},
    {{.name = "from",
      .example = "amqp://127.0.0.1/orders?dead_letters=yes",
      .text = "The queue. docs/messages.md has the URLs of each broker.",
      .complaint = source_complaint,
      .secret = true},
     assign<&consume_draft::params, &consume::consume_params::queue>},
    {{.name = "id",
      .fallback = "property:message_id",
      .example = "json:/event/id",
      .text = "Where the id of a message stands: `property:NAME` of the broker's protocol, "
              "`header:NAME`, `json:/pointer` into the payload (RFC 6901), `cloudevents` (source "
              "and id of a CloudEvent, in its headers or its payload), or `body-hash`, the hash "
              "of the payload: two honest messages with the same content are then one. Several "
              "of them in one text make one id, as in `{header:tenant}|{json:/id}`. A message "
              "without an id, or with two of them, is dead.",
      .complaint = refusal_of<consume::parse_id_rule>},
     [](consume_draft& d, const option_value& v) {
       d.params.id = *consume::parse_id_rule(text(v));
     }},
    {{.name = "to",
      .example = "http://127.0.0.1:9000/events",
      .text = "Each message is POSTed there, with `Idempotency-Key`; by `https://` its certificate "
              "is verified. 2xx is done; 3xx, 4xx, 501 and 503 are failed attempts; any other 5xx, "
              "a timeout and a broken answer are "
              "unknown. `outcome` may say otherwise for a status.",
      .complaint = refusal_of<parse_web_url>},
     [](consume_draft& d, const option_value& v) { d.params.endpoint = *parse_web_url(text(v)); }},
    {tls_ca_option,
     assign<&consume_draft::params, &consume::consume_params::tls, &tls::client_files::ca>},
    {tls_certificate_option, assign<&consume_draft::params, &consume::consume_params::tls,
                                    &tls::client_files::certificate>},
    {tls_key_option,
     assign<&consume_draft::params, &consume::consume_params::tls, &tls::client_files::key>},
    {tls_name_option, [](consume_draft& d, const option_value& v) { d.params.tls.name = text(v); }},
    {{.name = "command",
      .kind = value_kind::list,
      .example = "./handle,--json",
      .text = "In place of `to`: a command and its arguments, started for each message, which "
              "gets the payload on its standard input, and `ONCEGUARD_MESSAGE_ID`, "
              "`ONCEGUARD_IDEMPOTENCY_KEY`, `ONCEGUARD_ATTEMPT` and `ONCEGUARD_SUBSCRIBER` in "
              "its environment. Exit code 0 is done, 75 a failed attempt, 65 says that the "
              "message is dead; anything else is unknown."},
     assign<&consume_draft::params, &consume::consume_params::command>},
    {{.name = "headers",
      .kind = value_kind::list,
      .example = "X-GitHub-Event",
      .text = "Headers of a message that the endpoint gets as header fields, and the command as "
              "`ONCEGUARD_HEADER_X_GITHUB_EVENT` in its environment. A value that has no form "
              "there is left out.",
      .complaint = message_header_complaint},
     assign<&consume_draft::params, &consume::consume_params::headers>},
    {{.name = "timeout",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "How long the endpoint or the command may take. Then the outcome is unknown.",
      .min = 1,
      .max = day},
     assign<&consume_draft::params, &consume::consume_params::timeout>},
    {{.name = "concurrency",
      .kind = value_kind::integer,
      .fallback = "16",
      .text = "How many messages are handled at the same time.",
      .min = 1,
      .max = 1'000},
     assign<&consume_draft::params, &consume::consume_params::concurrency>},
    {{.name = "order",
      .kind = value_kind::choice,
      .fallback = "skip",
      .text = "Messages with the same order key, where the broker has one, are handled in their "
              "order. While one of them waits for another attempt, the later ones go on (`skip`) "
              "or wait for it (`stop`).",
      .choices = order_words},
     assign<&consume_draft::params, &consume::consume_params::order>},
    {{.name = "attempts",
      .kind = value_kind::integer,
      .fallback = "8",
      .text = "So often a message is tried before it is dead.",
      .min = 1,
      .max = 1'000'000},
     assign<&consume_draft::params, &consume::consume_params::inbox, &inbox_policy::attempts>},
    {{.name = "dead_letter",
      .example = "amqp://127.0.0.1/orders.dead",
      .text = "Where dead messages, and those whose outcome is unknown, are published, with the "
              "reason in the header `onceguard-reason`. Empty: to the broker's own destination, "
              "which `from` must have then. `drop`: nowhere; the inbox keeps id and reason, and "
              "the payload is gone.",
      .may_be_empty = true,
      .complaint = dead_letter_complaint,
      .secret = true},
     [](consume_draft& d, const option_value& v) {
       d.params.drop_dead_letters = text(v) == dropped;
       if (!d.params.drop_dead_letters) d.params.dead_letter = text(v);
     }},
    {{.name = "dead_letter_queue",
      .example = "nats://127.0.0.1/DEAD/operators",
      .text = "Where `onceguard messages` takes the dead letters from: a queue, in the form of "
              "`from`. Only where `dead_letter` does not name it: with NATS and MQTT, with an "
              "exchange of RabbitMQ, and with the own dead letters of RabbitMQ and SQS.",
      .may_be_empty = true,
      .complaint = queue_complaint,
      .secret = true},
     assign<&consume_draft::params, &consume::consume_params::dead_letter_queue>},
    {{.name = "secret_file",
      .example = "/etc/onceguard/webhook.secret",
      .text = "A file with the key by which requests to `to` are signed as Standard Webhooks "
              "has it (`webhook-id`, `webhook-timestamp`, `webhook-signature`): `whsec_` and "
              "base64, or any other bytes. Several lines `whsec_…` make a signature each, while "
              "one key replaces another. Empty: no signature.",
      .may_be_empty = true},
     assign<&consume_draft::params, &consume::consume_params::secret_file>},
    {{.name = "compare_payloads",
      .kind = value_kind::boolean,
      .fallback = "true",
      .text = "A message with the id of an earlier one and another payload is a sender's "
              "mistake, and dead. `false`: only the id counts, for senders whose payload differs "
              "from delivery to delivery."},
     assign<&consume_draft::params, &consume::consume_params::inbox,
            &inbox_policy::compare_payloads>},
};

class consume_reader {
 public:
  consume_reader(const reading& source, const policy_draft& defaults, remarks& out)
      : source_(source), defaults_(defaults), out_(out) {}

  std::optional<consume::consume_params> read(const node& table) {
    auto known = specs_of(consume_rows());
    const auto policies = specs_of(policy_rows());
    known.insert(known.end(), policies.begin(), policies.end());
    const auto before = faults();
    const auto found = read_table(source_, known, table, "[[consume]]", layer::route, out_);
    consume_draft draft;
    apply(consume_rows(), default_settings(source_, specs_of(consume_rows())), draft);
    apply(consume_rows(), found, draft);
    auto policy = defaults_;
    apply(policy_rows(), found, policy);
    for (const auto& one : found) policy.origins[one.spec->name] = one.position;
    table_ = &table;
    check_target(draft.params);
    take_policy(draft.params, policy);
    if (faults() != before) return std::nullopt;
    return std::move(draft.params);
  }

  /// The table that was read last, with those before it.
  void compare(const consume::consume_params& read,
               const std::vector<consume::consume_params>& before) {
    for (const auto& other : before) {
      if (other.subscriber != read.subscriber || other.queue == read.queue) continue;
      if (other.shares_subscriber && read.shares_subscriber) continue;
      return fault(
          "subscriber: another [[consume]] with another queue is " + quoted(read.subscriber) +
          ", too; of two messages with the same id, one in each queue, the second would be "
          "acknowledged unseen. Give them different names, or say shares_subscriber = true "
          "in both if their ids are the same");
    }
  }

 private:
  [[nodiscard]] std::ptrdiff_t faults() const {
    return std::count_if(out_.begin(), out_.end(),
                         [](const auto& one) { return one.weight == remark::grade::fault; });
  }
  void say(remark::grade weight, std::string description) {
    out_.push_back({weight,
                    {layer::route, source_.file, table_->line, table_->column},
                    "[[consume]] " + std::move(description)});
  }
  void fault(std::string description) { say(remark::grade::fault, std::move(description)); }

  void check_target(const consume::consume_params& params) {
    if (params.subscriber.empty()) fault("subscriber: missing");
    if (params.queue.empty()) fault("from: missing");
    if (params.endpoint && !params.command.empty()) fault("has both to and command; choose one");
    if (!params.endpoint && params.command.empty()) fault("needs to, or command");
    check_endpoint_files(
        {params.endpoint && params.endpoint->address.secure, params.tls, params.secret_file},
        {layer::route, source_.file, table_->line, table_->column}, "[[consume]]", out_);
    if (!params.secret_file.empty() && !params.endpoint) {
      say(remark::grade::warning, "secret_file: not used without to");
    }
    const auto is_hash = [](const consume::id_part& part) {
      return part.source == consume::id_part::location::body_hash;
    };
    if (std::all_of(params.id.begin(), params.id.end(), is_hash)) {
      say(remark::grade::warning,
          "id: two honest messages with the same payload are handled as one; a sender's id is "
          "better");
    }
    if (params.drop_dead_letters) {
      say(remark::grade::warning,
          "dead_letter: the payload of a dead message is lost, and of one whose outcome is "
          "unknown");
    }
  }

  void take_policy(consume::consume_params& params, const policy_draft& draft) {
    const auto& policy = draft.policy;
    params.inbox.lease = policy.lease;
    params.inbox.backoff = policy.backoff;
    params.inbox.backoff_max = std::max(policy.backoff, policy.backoff_max);
    if (!policy.outcome_parts.empty() && draft.origins.at("outcome").of_route()) {
      fault("outcome: only statuses and classes; a message has no parts of an answer");
    }
    // What a status means, and for how long its sender may repeat it, is not the same at a
    // gateway's routes as at a queue: what [defaults] says of these is said of the routes alone.
    if (is_own(draft, "outcome")) {
      params.outcome_status = policy.outcome_status;
      params.outcome_class = policy.outcome_class;
    }
    if (is_own(draft, "retention")) params.inbox.retention = policy.retention;
    const auto longest = messaging::sum_of_backoffs(params.inbox);
    if (params.inbox.retention <= longest) {
      fault("retention: must exceed " + duration_text(longest) +
            ", the sum of the back-offs of all attempts, or the inbox forgets a message that still "
            "comes");
    }
  }

  /// Whether the table says it by itself. A word where [defaults] says it instead.
  bool is_own(const policy_draft& draft, std::string_view option) {
    const auto given = draft.origins.find(option);
    if (given == draft.origins.end() || given->second.where == layer::fallback) return false;
    if (given->second.of_route()) return true;
    say(remark::grade::warning, std::string(option) +
                                    ": [defaults] says it for the routes of a gateway, and not for "
                                    "messages; set it here if it is meant here too");
    return false;
  }

  const reading& source_;
  const policy_draft& defaults_;
  remarks& out_;
  const node* table_ = nullptr;
};

}  // namespace

std::string message_header_complaint(std::string_view name) {
  const auto fault = consume::header_fault(name);
  return fault.empty() ? std::string() : quoted(name) + " " + fault;
}

std::string name_complaint(std::string_view name) {
  const bool plain = name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
                       return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
                     });
  return plain ? std::string()
               : "expected a name of up to 64 printable characters without spaces, got " +
                     quoted(name);
}

std::span<const row<consume_draft>> consume_rows() { return consume_table; }

std::vector<consume::consume_params> read_consumers(const reading& source, const node* tables,
                                                    const policy_draft& defaults, remarks& out) {
  std::vector<consume::consume_params> all;
  if (tables == nullptr) return all;
  consume_reader reader(source, defaults, out);
  for (const auto& table : tables->items) {
    auto made = reader.read(table);
    if (!made) continue;
    reader.compare(*made, all);
    all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace onceguard::config
