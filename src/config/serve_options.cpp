// The options of [serve].
#include "config/all_options.hpp"
#include "config/listener_check.hpp"
#include "config/policy/operation_policies.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::string_view mode_fault = "expected an octal file mode, such as 0600";

std::string mode_complaint(std::string_view text) {
  const bool octal = (text.size() == 3 || text.size() == 4) &&
                     text.find_first_not_of("01234567") == std::string_view::npos &&
                     (text.size() == 3 || text.front() == '0');
  return octal ? std::string() : std::string(mode_fault);
}

std::string inline_complaint(std::string_view name) {
  const auto why = operation_option_complaint(name);
  return why.empty() ? why : quoted(name) + ": " + why;
}

std::string address_complaint(std::string_view text) {
  const auto read = base::parse_server_address(text);
  return read ? std::string() : read.error().detail;
}

const row<settings> serve_table[]{
    {{.name = "listen",
      .flag = "serve-listen",
      .example = "unix:/run/onceguard/serve.sock",
      .text = "Where clients reach the decision service: `unix:PATH`, or `HOST:PORT`. Empty: "
              "nowhere.",
      .may_be_empty = true,
      .complaint = address_complaint},
     [](settings& s, const option_value& v) {
       s.serve.enabled = !text(v).empty();
       if (s.serve.enabled) s.serve.listen = *base::parse_server_address(text(v));
     }},
    {{.name = "mode",
      .flag = "serve-mode",
      .fallback = "0600",
      .text = "The mode of the Unix socket: who may write there may claim and settle.",
      .complaint = mode_complaint},
     [](settings& s, const option_value& v) {
       s.serve.mode = static_cast<unsigned>(std::stoul(text(v), nullptr, 8));
     }},
    {{.name = "token_file",
      .flag = "serve-token-file",
      .example = "/etc/onceguard/serve.tokens",
      .text = "A file with a line `client TOKEN NAME` for each client, which others than its "
              "owner and group can't read. SIGHUP reads it again. Empty: whoever connects is a "
              "client. An address that other machines can reach needs it, or `tls_client_ca`.",
      .may_be_empty = true},
     assign<&settings::serve, &serve::serve_params::token_file>},
    {{.name = "tls_certificate",
      .flag = "serve-tls-certificate",
      .example = "/etc/onceguard/serve.pem",
      .text = "A PEM file with the certificate of the service and its chain: then it speaks HTTPS "
              "alone. It is read again when it changes, and on SIGHUP. An address that other "
              "machines can reach needs it.",
      .may_be_empty = true},
     assign<&settings::serve, &serve::serve_params::tls_certificate>},
    {{.name = "tls_key",
      .flag = "serve-tls-key",
      .example = "/etc/onceguard/serve.key",
      .text = "The PEM file with the key of `tls_certificate`, without a password.",
      .may_be_empty = true},
     assign<&settings::serve, &serve::serve_params::tls_key>},
    {{.name = "tls_client_ca",
      .flag = "serve-tls-client-ca",
      .example = "/etc/onceguard/clients-ca.pem",
      .text = "A PEM file with the authorities of clients: one without a certificate of theirs is "
              "refused. Empty: no certificate is asked for.",
      .may_be_empty = true},
     assign<&settings::serve, &serve::serve_params::tls_client_ca>},
    {{.name = "inline",
      .kind = value_kind::list,
      .fallback = "lease,retention,on_busy,wait,backoff,backoff_max,answer,exception,"
                  "upstream_timeout",
      .text = "The options of `[defaults]` that a claim by its parts may set itself. Without "
              "`unknown`, `unknown_retention`, `store_failure` and `effect` no client can weaken "
              "what is promised. An empty list: none. SIGHUP takes changes over.",
      .complaint = inline_complaint},
     assign<&settings::inlined, &inline_rules::options>},
    {{.name = "max_lease",
      .kind = value_kind::duration,
      .fallback = "1h",
      .text =
          "The longest `lease`, and `upstream_timeout`, that a claim may set itself. SIGHUP takes "
          "changes over.",
      .min = second,
      .max = day},
     assign<&settings::inlined, &inline_rules::max_lease>},
    {{.name = "max_retention",
      .kind = value_kind::duration,
      .fallback = "31d",
      .text = "The longest `retention` that a claim may set itself. SIGHUP takes changes over.",
      .min = second,
      .max = 3'650 * day},
     assign<&settings::inlined, &inline_rules::max_retention>},
    {{.name = "threads",
      .flag = "serve-threads",
      .kind = value_kind::integer,
      .fallback = "0",
      .text = "I/O threads; 0: one per core.",
      .max = 256},
     assign<&settings::serve, &serve::serve_params::threads>},
    {{.name = "max_connections",
      .flag = "serve-max-connections",
      .kind = value_kind::integer,
      .fallback = "10000",
      .text = "Connections of clients at once; more get 503 and are closed. Each operation that "
              "runs holds one.",
      .min = 1,
      .max = 1'000'000},
     assign<&settings::serve, &serve::serve_params::max_connections>},
    {{.name = "max_messages",
      .flag = "serve-max-messages",
      .kind = value_kind::size,
      .fallback = "64MiB",
      .text = "Memory for messages that are read, and for answers until their clients have read "
              "them, all together. Claims get 503 from half of this on, so that settles have room.",
      .min = 64 * kib,
      .max = 1024 * gib},
     assign<&settings::serve, &serve::serve_params::max_messages>},
    {{.name = "message_timeout",
      .flag = "serve-message-timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long a client may take from the first to the last byte of a message.",
      .min = 10,
      .max = hour},
     assign<&settings::serve, &serve::serve_params::message_timeout>},
    {{.name = "idle_timeout",
      .flag = "serve-idle-timeout",
      .kind = value_kind::duration,
      .fallback = "60s",
      .text = "How long a connection that holds no operation may be without a message.",
      .min = 10,
      .max = 24 * hour},
     assign<&settings::serve, &serve::serve_params::idle_timeout>},
    {{.name = "write_timeout",
      .flag = "serve-write-timeout",
      .kind = value_kind::duration,
      .fallback = "10s",
      .text = "How long a client may take to read an answer.",
      .min = 10,
      .max = hour},
     assign<&settings::serve, &serve::serve_params::write_timeout>},
};

}  // namespace

std::span<const row<settings>> serve_rows() { return serve_table; }

bool is_rule_of_serve(std::string_view option) noexcept {
  return option == "inline" || option == "max_lease" || option == "max_retention";
}

}  // namespace onceguard::config
