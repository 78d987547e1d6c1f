// The options of [[upstream]] and [[route]], and the flag `--upstream`.
#include "config/option.hpp"
#include "config/options.hpp"
#include "config/texts.hpp"

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
  const auto read = parse_http_url(value);
  if (!read) return read.error().detail;
  if (read->path.find('?') != std::string::npos) {
    return "expected a URL such as \"http://127.0.0.1:9000\" without a query, got " + quoted(value);
  }
  return {};
}

const std::array upstream_table{
    row<upstream_draft>{{.name = "name",
                         .example = "payments",
                         .text = "What routes call it.",
                         .complaint = upstream_name_complaint},
                        [](upstream_draft& d, const option_value& v) { d.name = text(v); }},
    row<upstream_draft>{
        {.name = "identity",
         .example = "payments",
         .text = "What fingerprints know it by: another one makes every repeat of an earlier key a "
                 "mismatch (422). Not given: its name. When you rename an upstream, set this to "
                 "the name that it had first. Upstreams that serve the same may share one.",
         .complaint = upstream_name_complaint},
        [](upstream_draft& d, const option_value& v) { d.identity = text(v); }},
    row<upstream_draft>{{.name = "url",
                         .example = "http://127.0.0.1:9000",
                         .text = "Where it is: `http://HOST[:PORT][/BASE]`.",
                         .complaint = upstream_url_complaint},
                        [](upstream_draft& d, const option_value& v) { d.url = text(v); }},
};

const std::array route_table{
    row<route_draft>{
        {.name = "path",
         .fallback = "/",
         .example = "/v1/payments",
         .text = "A prefix of the normalised path, ending at a segment's border. `OPTIONS *` goes, "
                 "as it is, where `/` goes.",
         .complaint = refusal_of<parse_route_path>},
        [](route_draft& d, const option_value& v) { d.path = *parse_route_path(text(v)); }},
    row<route_draft>{{.name = "host",
                      .example = "api.example.com",
                      .text = "Only requests for this host, without a port. Empty: any.",
                      .may_be_empty = true,
                      .complaint = refusal_of<parse_route_host>},
                     [](route_draft& d, const option_value& v) {
                       d.host = text(v).empty() ? std::string() : *parse_route_host(text(v));
                     }},
    row<route_draft>{{.name = "match_method",
                      .former_name = "method",
                      .kind = value_kind::list,
                      .example = "POST,PUT",
                      .text = "Only requests of these methods fit the route. Empty: any. Which of "
                              "them are guarded is said by `methods`.",
                      .complaint = refusal_of<parse_method>},
                     [](route_draft& d, const option_value& v) {
                       d.method = std::get<std::vector<std::string>>(v);
                     }},
    row<route_draft>{{.name = "upstream",
                      .example = "payments",
                      .text = "Where its requests go. Not given: to the first upstream."},
                     [](route_draft& d, const option_value& v) { d.upstream = text(v); }},
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
std::span<const row<route_draft>> route_rows() { return route_table; }
const option& upstream_flag() { return upstream_option; }

}  // namespace onceguard::config
