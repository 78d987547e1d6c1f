// The options of [gateway] for TLS on its listener.
#include "config/all_options.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::array<std::string_view, 3> client_name_words{"certificate", "uri", "subject"};
constexpr std::array<std::string_view, 2> client_words{"require", "ask"};

const row<settings> tls_table[]{
    {{.name = "tls_certificate",
      .flag = "tls-certificate",
      .example = "/etc/onceguard/api.pem",
      .text = "A PEM file with the certificate of the listener and its chain: then it "
              "speaks HTTPS alone. It is read again when it changes, and on SIGHUP. "
              "Empty: plain HTTP. See [TLS](tls.md).",
      .may_be_empty = true},
     assign<&settings::gateway, &gateway::gateway_params::tls_certificate>},
    {{.name = "tls_key",
      .flag = "tls-key",
      .example = "/etc/onceguard/api.key",
      .text = "The PEM file with the key of `tls_certificate`, without a password.",
      .may_be_empty = true},
     assign<&settings::gateway, &gateway::gateway_params::tls_key>},
    {{.name = "tls_client_ca",
      .flag = "tls-client-ca",
      .example = "/etc/onceguard/clients-ca.pem",
      .text = "A PEM file with the authorities of clients: their certificates are asked "
              "for. Empty: they are not.",
      .may_be_empty = true},
     assign<&settings::gateway, &gateway::gateway_params::tls_client_ca>},
    {{.name = "tls_client",
      .flag = "tls-client",
      .kind = value_kind::choice,
      .fallback = "require",
      .text = "With `tls_client_ca`: `require` refuses a client without a certificate, "
              "`ask` takes it. A wrong one is refused either way.",
      .choices = client_words},
     [](settings& s, const option_value& v) { s.gateway.tls_client_required = number(v) == 0; }},
    {{.name = "tls_client_name",
      .flag = "tls-client-name",
      .kind = value_kind::choice,
      .fallback = "certificate",
      .text = "What a client with a certificate and without `Authorization` is known by, with "
              "`scope = \"credential\"`: the `certificate` (a renewed one is another client), its "
              "one `uri` (as SPIFFE has it) or its `subject`. A certificate without that name is "
              "known by itself. The authorities must never give one name to two clients.",
      .choices = client_name_words},
     assign<&settings::gateway, &gateway::gateway_params::tls_client_name>},
};

}  // namespace

std::span<const row<settings>> tls_rows() { return tls_table; }

}  // namespace onceguard::config
