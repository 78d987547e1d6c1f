// The options of [[webhook]], and what a route of webhooks differs in from others.
#include <algorithm>
#include <array>

#include "config/policy/texts.hpp"
#include "config/webhook.hpp"
#include "webhook/hmac.hpp"
#include "webhook/verifier.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::array<std::string_view, 3> separator_words{"none", "comma", "space"};
constexpr std::array<std::string_view, 2> encoding_words{"hex", "base64"};
constexpr std::array<std::string_view, 2> hash_words{"hmac-sha256", "hmac-sha1"};
constexpr std::array<std::string_view, 3> secret_words{"raw", "whsec", "base64"};

std::string header_complaint(std::string_view value) {
  const auto read = webhook::parse_source("header:" + std::string(value));
  return read ? std::string() : "expected the name of a header field, got " + quoted(value);
}

const std::array webhook_table{
    row<webhook::sender>{{.name = "name",
                          .example = "billing",
                          .text = "What routes call it. The name of a preset replaces the preset."},
                         [](webhook::sender& d, const option_value& v) { d.name = text(v); }},
    row<webhook::sender>{
        {.name = "id",
         .kind = value_kind::list,
         .example = "header:X-Event-Id",
         .text = "Where a delivery has its id, which is the same each time it is sent: "
                 "`header:NAME`, `json:/POINTER` into the body, or `form:NAME`. Of several, the "
                 "first that is there.",
         .complaint = refusal_of<webhook::parse_source>},
        [](webhook::sender& d, const option_value& v) {
          d.id.clear();
          for (const auto& one : list(v)) d.id.push_back(*webhook::parse_source(one));
        }},
    row<webhook::sender>{
        {.name = "signature_header",
         .example = "X-Signature",
         .text = "The header field with the signature, or with several of which one must be good.",
         .complaint = header_complaint},
        [](webhook::sender& d, const option_value& v) { d.signature_header = text(v); }},
    row<webhook::sender>{{.name = "signature_separator",
                          .kind = value_kind::choice,
                          .fallback = "none",
                          .text = "What is between several signatures in the header.",
                          .choices = separator_words},
                         [](webhook::sender& d, const option_value& v) {
                           d.separator = static_cast<webhook::signature_separator>(number(v));
                         }},
    row<webhook::sender>{
        {.name = "signature_prefix",
         .example = "sha256=",
         .text = "What stands before a signature. What does not begin with it is skipped.",
         .may_be_empty = true},
        [](webhook::sender& d, const option_value& v) { d.prefix = text(v); }},
    row<webhook::sender>{{.name = "signature_encoding",
                          .kind = value_kind::choice,
                          .fallback = "hex",
                          .text = "How the bytes of a signature are written.",
                          .choices = encoding_words},
                         [](webhook::sender& d, const option_value& v) {
                           d.encoding = static_cast<webhook::signature_encoding>(number(v));
                         }},
    row<webhook::sender>{{.name = "algorithm",
                          .kind = value_kind::choice,
                          .fallback = "hmac-sha256",
                          .text = "How a signature is made from the secret.",
                          .choices = hash_words},
                         [](webhook::sender& d, const option_value& v) {
                           d.hash = static_cast<webhook::hmac_hash>(number(v));
                         }},
    row<webhook::sender>{
        {.name = "signed",
         .fallback = "{body}",
         .example = "{timestamp}.{body}",
         .text =
             "What the signature is made of: any text with `{body}`, `{timestamp}` and `{id}`."},
        [](webhook::sender& d, const option_value& v) { d.content = text(v); }},
    row<webhook::sender>{
        {.name = "secret",
         .kind = value_kind::choice,
         .fallback = "raw",
         .text = "How the secret is written: its bytes as they are, base64 behind `whsec_`, or "
                 "base64.",
         .choices = secret_words},
        [](webhook::sender& d, const option_value& v) {
          d.secret = static_cast<webhook::secret_form>(number(v));
        }},
    row<webhook::sender>{
        {.name = "timestamp",
         .example = "header:X-Timestamp",
         .text = "Where a delivery says when it was signed, in seconds since 1970: `header:NAME`, "
                 "or `signature:NAME` for NAME=… in the header of the signature. Empty: nowhere.",
         .may_be_empty = true,
         .complaint = refusal_of<webhook::parse_source>},
        [](webhook::sender& d, const option_value& v) {
          d.timestamp.clear();
          if (!text(v).empty()) d.timestamp.push_back(*webhook::parse_source(text(v)));
        }},
    row<webhook::sender>{
        {.name = "tolerance",
         .kind = value_kind::duration,
         .fallback = "0s",
         .example = "5m",
         .text = "How far the timestamp may be from the clock of the gateway; 0: any.",
         .max = day},
        [](webhook::sender& d, const option_value& v) {
          d.tolerance_seconds = number(v) / second;
        }},
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

/// The default of `name` on a route of webhooks; true: the configuration does not say otherwise.
bool is_default(const policy_draft& draft, std::string_view name) {
  const auto found = draft.origins.find(name);
  return found == draft.origins.end() || found->second.where == layer::fallback;
}

class webhook_route {
 public:
  webhook_route(configured_route& read, gateway::route_params& made, remarks& out)
      : read_(read), made_(made), out_(out) {}

  void take(const std::vector<webhook::sender>& senders, bool need_secrets) {
    refuse_others();
    const auto* found = find(senders);
    if (found == nullptr) return;
    std::vector<std::string> secrets;
    if (need_secrets) {
      if (read_.webhook_secret_file.empty()) {
        return fault("webhook", "webhook: needs webhook_secret_file");
      }
      auto got = webhook::read_secrets(read_.webhook_secret_file, found->secret);
      if (!got) return fault("webhook_secret_file", "webhook_secret_file: " + got.error().detail);
      secrets = *std::move(got);
    }
    made_.webhook = std::make_shared<const webhook::verifier>(*found, std::move(secrets));
    take_defaults(*found);
  }

 private:
  void say(remark::grade weight, std::string_view name, const std::string& description) {
    const auto found = read_.policy.origins.find(name);
    const auto position = found == read_.policy.origins.end() ? origin{} : found->second;
    out_.push_back(
        {weight, position, (position.of_route() ? "[[route]] " : "[defaults] ") + description});
  }
  void fault(std::string_view name, const std::string& description) {
    say(remark::grade::fault, name, description);
  }

  /// Options about keys of clients: the key of a delivery is its id.
  void refuse_others() {
    for (const std::string_view name :
         {"key", "key_syntax", "key_format", "scope", "previous_scope", "required", "methods"}) {
      const auto found = read_.policy.origins.find(name);
      if (found == read_.policy.origins.end() || !found->second.of_route()) continue;
      fault(name, std::string(name) + ": not with webhook, which finds the key by itself");
    }
    if (read_.policy.policy.observe) {
      fault("observe", "observe: not with webhook, or what nobody signed would pass");
    }
  }

  const webhook::sender* find(const std::vector<webhook::sender>& senders) {
    std::vector<std::string_view> names;
    for (const auto& one : senders) {
      if (one.name == read_.webhook) return &one;
      names.push_back(one.name);
    }
    const auto meant = nearest(read_.webhook, names);
    fault("webhook", "webhook: there is no sender " + quoted(read_.webhook) +
                         (meant.empty() ? "" : "; did you mean " + quoted(meant) + "?"));
    return nullptr;
  }

  void take_defaults(const webhook::sender& about) {
    auto& policy = read_.policy.policy;
    auto& texts = read_.policy.texts;
    // No other spelling of the path may lead to the service without a signature.
    policy.required = true;
    policy.methods = made_.method;
    if (policy.methods.empty()) {
      policy.methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"};
    }
    texts["required"] = "true";
    if (is_default(read_.policy, "retention")) {
      policy.retention = milliseconds(7 * day);  // senders try again for days
      texts["retention"] = "\"7d\"";
    }
    if (webhook::signs_id(about)) {
      // The sender has signed the id, so another body under it is the same event as it is now.
      if (is_default(read_.policy, "fingerprint")) {
        policy.fingerprint.kind = fingerprint_kind::none;
        texts["fingerprint"] = "\"none\"";
      }
    } else {
      say(remark::grade::note, "webhook",
          "webhook: " + quoted(about.name) +
              " does not sign the id: whoever has seen a delivery can send it again under another "
              "id");
    }
    made_.policy = policy;
  }

  configured_route& read_;
  gateway::route_params& made_;
  remarks& out_;
};

}  // namespace

std::span<const row<webhook::sender>> webhook_rows() { return webhook_table; }

std::vector<webhook::sender> read_senders(const reading& source, const node* tables, remarks& out) {
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

void take_webhook(const std::vector<webhook::sender>& senders, bool need_secrets,
                  configured_route& read, gateway::route_params& made, remarks& out) {
  if (read.webhook.empty()) {
    if (read.webhook_secret_file.empty()) return;
    out.push_back({remark::grade::fault, read.policy.origins.at("webhook_secret_file"),
                   "[[route]] webhook_secret_file: only with webhook"});
    return;
  }
  webhook_route(read, made, out).take(senders, need_secrets);
}

}  // namespace onceguard::config
