#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/form.hpp"
#include "base/hash.hpp"
#include "core/body_view.hpp"
#include "core/field_kinds.hpp"
#include "core/lasting_mark.hpp"
#include "core/multipart.hpp"
#include "core/work_digests.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

// Each kind of hash begins with its own domain, so that no hash can be mistaken for another kind. A
// change of the fingerprint's input needs a new number here; repeats of requests that are already
// stored would no longer match.
constexpr std::string_view fingerprint_domain = "onceguard fingerprint 1";
constexpr std::string_view named_domain = "onceguard fingerprint 2";
constexpr std::string_view record_domain = "onceguard record 1";
constexpr std::string_view scope_domain = "onceguard scope 1";

void add_parts(base::sha256& hash, const core::multipart& parts) {
  // With the number of parts and the length of each, no two lists can have the same input.
  hash.part(std::to_string(parts.pieces.size()));
  for (const auto piece : parts.pieces) hash.part(piece);
}

/// A form as its fields or parts, in the order of the body: nothing is left out but what differs
/// from one sending to the next. False: the body is no form.
bool add_form(base::sha256& hash, std::string_view content_type, std::string_view body,
              const std::optional<core::multipart>& parts) {
  const auto type = content_type.substr(0, content_type.find(';'));
  if (base::iequals(base::trim(type), "application/x-www-form-urlencoded")) {
    const auto fields = base::parse_form(body);
    if (!fields) return false;
    hash.part("form").part("fields").part(content_type);
    hash.part(std::to_string(fields->size()));
    for (const auto& [name, value] : *fields) hash.part(name).part(value);
    return true;
  }
  if (!parts || parts->type != "multipart/form-data") return false;
  hash.part("form").part("parts").part(parts->parameters);
  add_parts(hash, *parts);
  return true;
}

/// A word before the body says how the body was hashed: the exact bytes of one body can never match
/// the canonical form of another.
void add_body(base::sha256& hash, const fingerprint_rule& rule, const fingerprint_input& input) {
  if (rule.kind == fingerprint_kind::none) {
    hash.part("none");
    return;
  }
  if (rule.kind == fingerprint_kind::json) {
    if (const auto canonical = canonical_json(input.body, rule)) {
      hash.part("json").part(*canonical);
      return;
    }
  }
  if (rule.kind == fingerprint_kind::form &&
      add_form(hash, input.content_type, input.body,
               core::cut_multipart(input.content_type, input.body))) {
    return;
  }
  hash.part("exact").part(input.content_type).part(input.body);
}

/// The same with `fingerprint_head::named`.
void add_body(base::sha256& hash, const fingerprint_rule& rule, const fingerprint_input& input,
              const core::body_view& body) {
  if (rule.kind == fingerprint_kind::none) {
    hash.part("none");
    return;
  }
  hash.part(body.encoding);
  if (body.canonical) {
    hash.part("json").part(*body.canonical);
    return;
  }
  if (rule.kind == fingerprint_kind::form &&
      add_form(hash, input.content_type, body.content, body.parts)) {
    return;
  }
  if (body.parts) {
    hash.part("parts").part(body.parts->type).part(body.parts->parameters);
    add_parts(hash, *body.parts);
    return;
  }
  hash.part("exact").part(input.content_type).part(body.content);
}

std::string in_lower_case(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (const char c : name) out += c == '_' ? '-' : base::ascii_lower(c);
  return out;
}

/// The host, and the header fields that say for whom or what the request asks. Those of one name
/// keep their order; a retry may send the names in another order.
void add_head(base::sha256& hash, const fingerprint_rule& rule, const fingerprint_input& input) {
  const bool known = !core::lists_header(rule, '-', "host");
  hash.part("head").part(known ? in_lower_case(input.host) : std::string());
  std::vector<std::pair<std::string, std::string_view>> counting;
  for (const auto& f : input.fields) {
    const bool counts = core::names_account(f.name) || core::names_operation(f.name);
    if (!(counts ? !core::lists_header(rule, '-', f.name)
                 : core::lists_header(rule, '+', f.name))) {
      continue;
    }
    counting.emplace_back(in_lower_case(f.name), f.value);
  }
  std::stable_sort(counting.begin(), counting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  hash.part(std::to_string(counting.size()));
  for (const auto& [name, value] : counting) hash.part(name).part(value);
}

void add_marks(base::sha256& hash, std::span<const std::string> marks) {
  std::vector<std::string> lasting;
  for (const auto& mark : marks) {
    if (auto kept = core::lasting_mark(mark); !kept.empty()) lasting.push_back(std::move(kept));
  }
  hash.part(std::to_string(lasting.size()));
  for (const auto& mark : lasting) hash.part(mark);
}

fingerprint make_named(const fingerprint_rule& rule, const fingerprint_input& input) {
  const core::body_view body(rule, input);
  fingerprint made{.method = rule.text()};
  base::sha256 hash;
  hash.part(named_domain).part(made.method);
  hash.part(input.upstream).part(input.method).part(input.path).part(input.query);
  add_head(hash, rule, input);
  add_body(hash, rule, input, body);
  add_marks(hash, input.more);
  made.value = hash.finish();
  // Behind the "2 ", for people and for the advice that a mismatch gets.
  made.method.insert(2, "work=" + core::work_digests(rule, input, body) + ' ');
  return made;
}

}  // namespace

fingerprint make_fingerprint(const fingerprint_rule& rule, const fingerprint_input& input) {
  if (rule.head == fingerprint_head::named) return make_named(rule, input);
  fingerprint made{.method = rule.text()};
  base::sha256 hash;
  hash.part(fingerprint_domain).part(made.method);
  hash.part(input.upstream).part(input.method).part(input.path).part(input.query);
  add_body(hash, rule, input);
  hash.part(std::to_string(input.more.size()));
  for (const auto& part : input.more) hash.part(part);
  made.value = hash.finish();
  return made;
}

record_id make_record_id(const digest& scope, std::string_view key) {
  return base::sha256().part(record_domain).part(base::as_chars(scope)).part(key).finish();
}

digest make_scope_digest(std::string_view kind, std::string_view value) {
  return base::sha256().part(scope_domain).part(kind).part(value).finish();
}

}  // namespace v1
}  // namespace onceguard
