#include <array>
#include <string>
#include <utility>

#include <onceguard/fingerprint.hpp>

#include "base/field.hpp"
#include "base/form.hpp"
#include "base/hash.hpp"
#include "core/multipart.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

// Each kind of hash begins with its own domain, so that no hash can be mistaken for another kind. A
// change of the fingerprint's input needs a new number here; repeats of requests that are already
// stored would no longer match.
constexpr std::string_view fingerprint_domain = "onceguard fingerprint 1";
constexpr std::string_view record_domain = "onceguard record 1";
constexpr std::string_view scope_domain = "onceguard scope 1";

/// A form as its fields or parts, in the order of the body: nothing is left out but what differs
/// from one sending to the next. False: the body is no form.
bool add_form(base::sha256& hash, const fingerprint_input& input) {
  const auto type = input.content_type.substr(0, input.content_type.find(';'));
  if (base::iequals(base::trim(type), "application/x-www-form-urlencoded")) {
    const auto fields = base::parse_form(input.body);
    if (!fields) return false;
    hash.part("form").part("fields").part(input.content_type);
    hash.part(std::to_string(fields->size()));
    for (const auto& [name, value] : *fields) hash.part(name).part(value);
    return true;
  }
  const auto parts = core::cut_multipart(input.content_type, input.body);
  if (!parts) return false;
  hash.part("form").part("parts").part(parts->parameters);
  hash.part(std::to_string(parts->pieces.size()));
  for (const auto piece : parts->pieces) hash.part(piece);
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
  if (rule.kind == fingerprint_kind::form && add_form(hash, input)) return;
  hash.part("exact").part(input.content_type).part(input.body);
}

}  // namespace

fingerprint make_fingerprint(const fingerprint_rule& rule, const fingerprint_input& input) {
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

namespace {

constexpr std::string_view pick_word = "json pick";
constexpr std::string_view omit_word = "json omit";

void append_escaped(std::string& out, std::string_view pointer) {
  for (const char c : pointer) {
    if (c == ' ') {
      out += "%20";
    } else if (c == '%') {
      out += "%25";
    } else {
      out += c;
    }
  }
}

error wrong(std::size_t position, std::string description) {
  return {errc::invalid_argument,
          "byte " + std::to_string(position + 1) + ": " + std::move(description)};
}

/// Reads the pointer that begins at `position` and ends before the next space or at the end.
result<std::string> read_pointer(std::string_view text, std::size_t position) {
  const auto written = text.substr(position, text.find(' ', position) - position);
  std::string pointer;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '%') {
      pointer += written[i];
      continue;
    }
    const auto escape = written.substr(i, 3);
    if (escape != "%20" && escape != "%25") {
      return wrong(position + i, "a percent sign stands in %20 (space) and %25 (itself) only");
    }
    pointer += escape == "%20" ? ' ' : '%';
    i += 2;
  }
  if (!is_json_pointer(pointer)) {
    return wrong(position, "not a JSON Pointer: empty, or begins with /, and ~ only as ~0 and ~1");
  }
  return pointer;
}

}  // namespace

std::string fingerprint_rule::text() const {
  if (kind == fingerprint_kind::exact) return "exact";
  if (kind == fingerprint_kind::none) return "none";
  if (kind == fingerprint_kind::form) return "form";
  if (selection == json_selection::all || pointers.empty()) return "json";
  std::string out(selection == json_selection::pick ? pick_word : omit_word);
  for (const auto& pointer : pointers) append_escaped(out += ' ', pointer);
  return out;
}

result<fingerprint_rule> fingerprint_rule::parse(std::string_view text) {
  fingerprint_rule rule;
  if (text == "exact") return rule;
  rule.kind = fingerprint_kind::none;
  if (text == "none") return rule;
  rule.kind = fingerprint_kind::form;
  if (text == "form") return rule;
  rule.kind = fingerprint_kind::json;
  if (text == "json") return rule;

  const bool pick = text.starts_with(pick_word);
  if (!pick && !text.starts_with(omit_word)) {
    return wrong(0, "neither exact, none, form, json, json pick … nor json omit …");
  }
  rule.selection = pick ? json_selection::pick : json_selection::omit;
  std::size_t position = pick_word.size();
  static_assert(pick_word.size() == omit_word.size());
  if (position == text.size()) return wrong(position, "a JSON Pointer is missing");
  while (position < text.size()) {
    if (text[position] != ' ') return wrong(position, "a space is missing before a JSON Pointer");
    auto pointer = read_pointer(text, position + 1);
    if (!pointer) return std::move(pointer).error();
    rule.pointers.push_back(*std::move(pointer));
    position = text.find(' ', position + 1);
    if (position == std::string_view::npos) break;
  }
  return rule;
}

}  // namespace v1
}  // namespace onceguard
