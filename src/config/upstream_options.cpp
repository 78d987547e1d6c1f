// The options of [[upstream]], and the flag `--upstream`.
#include "config/all_options.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string upstream_name_complaint(std::string_view value) {
  bool plain = value.size() <= 64;
  for (const char c : value) plain = plain && c > 0x20 && c < 0x7f && c != '"' && c != '\\';
  return plain ? std::string()
               : "expected a name of up to 64 printable characters without spaces, got " +
                     quoted(value);
}

std::string upstream_url_complaint(std::string_view value) {
  const auto read = parse_web_url(value);
  if (!read) return read.error().detail;
  if (read->path.find('?') != std::string::npos) {
    return "expected a URL such as \"http://127.0.0.1:9000\" without a query, got " + quoted(value);
  }
  return {};
}

constexpr std::array<std::string_view, 2> framing_words{"chunked", "length"};

const row<upstream_draft> upstream_table[]{
    {{.name = "name",
      .example = "payments",
      .text = "What routes call it.",
      .complaint = upstream_name_complaint},
     assign<&upstream_draft::name>},
    {{.name = "identity",
      .example = "payments",
      .text = "What fingerprints know it by: another one makes every repeat of an earlier key a "
              "mismatch (422). Not given: its name. When you rename an upstream, set this to "
              "the name that it had first. Upstreams that serve the same may share one.",
      .complaint = upstream_name_complaint},
     assign<&upstream_draft::identity>},
    {{.name = "url",
      .example = "http://127.0.0.1:9000",
      .text = "Where it is: `http://HOST[:PORT][/BASE]`, or `https://…`: then "
              "its certificate is verified.",
      .complaint = upstream_url_complaint},
     assign<&upstream_draft::url>},
    {{.name = "tls_ca",
      .example = "/etc/onceguard/internal-ca.pem",
      .text = "A PEM file with the authorities that its certificate may be of. "
              "Empty: those of the system.",
      .may_be_empty = true},
     assign<&upstream_draft::tls, &tls::client_files::ca>},
    {{.name = "tls_certificate",
      .example = "/etc/onceguard/gateway.pem",
      .text = "A PEM file with the certificate, and its chain, that is shown to it. Empty: none.",
      .may_be_empty = true},
     assign<&upstream_draft::tls, &tls::client_files::certificate>},
    {{.name = "tls_key",
      .example = "/etc/onceguard/gateway.key",
      .text = "The PEM file with the key of `tls_certificate`.",
      .may_be_empty = true},
     assign<&upstream_draft::tls, &tls::client_files::key>},
    {{.name = "tls_name",
      .example = "payments.internal",
      .text = "The name that its certificate must have, and that is asked for. Empty: the host of "
              "`url`.",
      .may_be_empty = true},
     assign<&upstream_draft::tls, &tls::client_files::name>},
    {{.name = "empty_body",
      .kind = value_kind::choice,
      .fallback = "chunked",
      .text = "How a guarded request without a body goes there: `chunked`, so that no proxy on "
              "the way sends it again when a connection breaks, as Caddy, Traefik and Varnish "
              "do; `length` is `Content-Length: 0`, for a service that refuses the former and "
              "has no such proxy before it.",
      .choices = framing_words},
     assign<&upstream_draft::empty_body>},
};

const option upstream_option{
    .name = "upstream",
    .flag = "upstream",
    .example = "http://127.0.0.1:9000",
    .text =
        "One upstream named `default` for all paths; with a file that has one upstream, "
        "another address for it.",
    .complaint = upstream_url_complaint};

}  // namespace

std::span<const row<upstream_draft>> upstream_rows() { return upstream_table; }
const option& upstream_flag() { return upstream_option; }

}  // namespace onceguard::config
