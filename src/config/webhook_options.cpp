// The options of [[webhook]], and the senders that they make.
#include "config/webhook_options.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/octets.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::array<std::string_view, 3> separator_words{"none", "comma", "space"};
constexpr std::array<std::string_view, 2> encoding_words{"hex", "base64"};
constexpr std::array<std::string_view, 3> algorithm_words{"hmac-sha256", "hmac-sha1", "rsa-sha256"};
constexpr std::array<std::string_view, 5> secret_words{"raw", "whsec", "base64", "hex", "pem"};

std::string absence_complaint(std::string_view value) {
  const auto read = webhook::parse_source(value);
  const bool pointer = read && read->where == webhook::source::location::json;
  return pointer ? std::string() : "expected \"json:/POINTER\", got " + quoted(value);
}

std::string pointer_of(std::string_view value) { return webhook::parse_source(value)->name; }

std::optional<webhook::source> source_of(const option_value& v) {
  const auto& given = text(v);
  return given.empty() ? std::nullopt : std::optional(*webhook::parse_source(given));
}

std::string value_complaint(std::string_view value) {
  return base::is_field_value(value) ? std::string()
                                     : "expected the value of a header field, got " + quoted(value);
}

std::string header_complaint(std::string_view value) {
  return base::is_token(value) ? std::string()
                               : "expected the name of a header field, got " + quoted(value);
}

const row<webhook::sender> webhook_table[]{
    {{.name = "name",
      .example = "billing",
      .text = "What routes call it. The name of a preset replaces the preset."},
     assign<&webhook::sender::name>},
    {{.name = "id",
      .kind = value_kind::list,
      .example = "header:X-Event-Id",
      .text = "Where a delivery has its id, which is the same each time it is sent: "
              "`header:NAME`, `json:/POINTER` into the body, `form:NAME`, `query:NAME`, or "
              "`signed-hash`, the SHA-256 of what is signed. Several of them in one text make "
              "one id, as in `{json:/a}:{json:/b}`. Of several ids, the first that is there.",
      .complaint = refusal_of<webhook::parse_id>},
     [](webhook::sender& d, const option_value& v) {
       d.id.clear();
       for (const auto& one : list(v)) d.id.push_back(*webhook::parse_id(one));
     }},
    {{.name = "signature",
      .example = "header:X-Signature",
      .text = "Where the signature is, or several of which one must be good: `header:NAME` or "
              "`json:/POINTER`.",
      .complaint = refusal_of<webhook::parse_source>},
     [](webhook::sender& d, const option_value& v) { d.signature = source_of(v); }},
    {{.name = "signature_separator",
      .kind = value_kind::choice,
      .fallback = "none",
      .text = "What is between several signatures.",
      .choices = separator_words},
     assign<&webhook::sender::separator>},
    {{.name = "signature_prefix",
      .example = "sha256=",
      .text = "What stands before a signature. What does not begin with it is skipped.",
      .may_be_empty = true},
     assign<&webhook::sender::prefix>},
    {{.name = "signature_encoding",
      .kind = value_kind::choice,
      .fallback = "hex",
      .text = "How the bytes of a signature are written.",
      .choices = encoding_words},
     assign<&webhook::sender::encoding>},
    {{.name = "algorithm",
      .kind = value_kind::choice,
      .fallback = "hmac-sha256",
      .text = "How a signature is made: from a secret that both have, or with a "
              "private key of RSA (PKCS #1 v1.5).",
      .choices = algorithm_words},
     assign<&webhook::sender::algorithm>},
    {{.name = "signed",
      .fallback = "{body}",
      .example = "{timestamp}.{body}",
      .text =
          "What the signature is made of: any text with `{body}`, `{timestamp}`, `{id}`, "
          "`{crc32}` (of the body, in decimal digits), `{form}` (the sorted names and values of "
          "a body that is a form), `{url}` (the route's `webhook_url`, with what the request "
          "has beyond the route's path), `{webhook_id}` (the route's), `{header:NAME}`, "
          "`{json:/POINTER}`, `{form:NAME}` and `{query:NAME}`. An absent value is empty. A "
          "value must not contain the text beside it, or it could be two things; one of them "
          "may, with a star: `{*json:/a}`.",
      .complaint = refusal_of<webhook::parse_pattern>},
     [](webhook::sender& d, const option_value& v) {
       d.content = *webhook::parse_pattern(text(v));
     }},
    {{.name = "body_hash",
      .example = "query:bodySHA256",
      .text = "Where a delivery has the SHA-256 of its body in hex, if it has: `header:NAME` or "
              "`query:NAME`. It must be a part of `signed`. A body with such a hash is no form, "
              "and `{form}` is empty. Empty: nowhere.",
      .may_be_empty = true,
      .complaint = refusal_of<webhook::parse_source>},
     [](webhook::sender& d, const option_value& v) { d.body_hash = source_of(v); }},
    {{.name = "absent",
      .kind = value_kind::list,
      .example = "json:/items/1",
      .text = "Values that no delivery may have, because the sender signs others only: each "
              "`json:/POINTER`. An index counts as absent only in an array.",
      .may_be_empty = true,
      .complaint = absence_complaint},
     [](webhook::sender& d, const option_value& v) {
       d.absent.clear();
       for (const auto& one : list(v)) d.absent.push_back(pointer_of(one));
     }},
    {{.name = "secret",
      .kind = value_kind::choice,
      .fallback = "raw",
      .text = "How the secret is written: its bytes as they are, base64 behind `whsec_`, base64, "
              "hex digits, or as public keys and certificates in PEM form.",
      .choices = secret_words},
     assign<&webhook::sender::secret>},
    {{.name = "timestamp",
      .example = "header:X-Timestamp",
      .text = "Where a delivery says when it was signed, in seconds since 1970 or as "
              "`2026-01-31T12:00:00Z`: `header:NAME`, or `signature:NAME` for NAME=… in the "
              "text of the signature. Empty: nowhere.",
      .may_be_empty = true,
      .complaint = refusal_of<webhook::parse_source>},
     [](webhook::sender& d, const option_value& v) { d.timestamp = source_of(v); }},
    {{.name = "tolerance",
      .kind = value_kind::duration,
      .fallback = "0s",
      .example = "5m",
      .text = "How far the timestamp may be from the clock of the gateway; 0: any.",
      .max = 30 * day},
     [](webhook::sender& d, const option_value& v) { d.tolerance_seconds = number(v) / second; }},
    {{.name = "queued_headers",
      .kind = value_kind::list,
      .example = "X-GitHub-Event",
      .text = "With `webhook_queue`: the header fields that go into the queue with the body, "
              "besides Content-Type.",
      .complaint = header_complaint},
     assign<&webhook::sender::queued_headers>},
    {{.name = "refused_status",
      .kind = value_kind::integer,
      .fallback = "403",
      .text = "The status of the refusal of a delivery whose signature is wrong, or whose time "
              "is over. Some senders check for `401` when an address is registered.",
      .min = 400,
      .max = 499},
     assign<&webhook::sender::refused_status>},
    {{.name = "accepted_status",
      .kind = value_kind::integer,
      .fallback = "200",
      .text = "With `webhook_queue`: the status by which the sender learns that "
              "its delivery has arrived.",
      .min = 200,
      .max = 299},
     assign<&webhook::sender::accepted_status>},
    {{.name = "accepted_type",
      .example = "text/plain",
      .text = "The Content-Type of that answer. Empty: none.",
      .may_be_empty = true,
      .complaint = value_complaint},
     assign<&webhook::sender::accepted_type>},
    {{.name = "accepted_body",
      .example = "[accepted]",
      .text = "The body of that answer.",
      .may_be_empty = true},
     assign<&webhook::sender::accepted_body>},
    {{.name = "challenge",
      .example = "json:/challenge",
      .text = "With `webhook_queue`: the value by which the sender checks a new address, and "
              "which it expects as the answer: `header:NAME`, `json:/POINTER` or `form:NAME`. A "
              "delivery that has one is answered and not published. Empty: no checks.",
      .may_be_empty = true,
      .complaint = refusal_of<webhook::parse_source>},
     [](webhook::sender& d, const option_value& v) { d.challenge = source_of(v); }},
};

bool is_fault(const remark& r) { return r.weight == remark::grade::fault; }

class sender_reader {
 public:
  sender_reader(const reading& source, remarks& out) : source_(source), out_(out) {}

  void read(const node& table) {
    const auto known = specs_of(webhook_rows());
    const auto before = std::count_if(out_.begin(), out_.end(), is_fault);
    const auto found = read_table(source_, known, table, "[[webhook]]", layer::file, out_);
    webhook::sender made;
    apply(webhook_rows(), default_settings(source_, known), made);
    apply(webhook_rows(), found, made);
    if (std::count_if(out_.begin(), out_.end(), is_fault) != before) return;
    auto fault = made.name.empty() ? std::string("name: missing") : complaint(made);
    if (!fault.empty()) {
      out_.push_back({remark::grade::fault,
                      {layer::file, source_.file, table.line, table.column},
                      "[[webhook]] " + std::move(fault)});
      return;
    }
    std::erase_if(made_, [&](const webhook::sender& other) { return other.name == made.name; });
    made_.push_back(std::move(made));
  }

  std::vector<webhook::sender> done() { return std::move(made_); }

 private:
  const reading& source_;
  remarks& out_;
  std::vector<webhook::sender> made_;
};

}  // namespace

std::span<const row<webhook::sender>> webhook_rows() { return webhook_table; }

std::vector<webhook::sender> read_senders(const reading& source, const node* tables, bool routes,
                                          remarks& out) {
  // The presets take longer to read than all other defaults.
  if (tables == nullptr && !routes) return {};
  sender_reader reader(source, out);
  const std::string title = "the presets of webhooks";
  if (const auto document = read_document(webhook::presets(), title, out)) {
    if (const auto* all = find_table(source, *document, "webhook", true, out)) {
      for (const auto& table : all->items) reader.read(table);
    }
  }
  if (tables != nullptr) {
    for (const auto& table : tables->items) reader.read(table);
  }
  return reader.done();
}

}  // namespace onceguard::config
