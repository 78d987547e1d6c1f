// The text form of a rule, as records keep it.
#include <string>
#include <utility>

#include <onceguard/fingerprint.hpp>

namespace onceguard {
inline namespace v1 {
namespace {

constexpr std::string_view named_word = "2 ";
constexpr std::string_view work_word = "work=";
constexpr std::string_view pick_word = "json pick";
constexpr std::string_view omit_word = "json omit";

void append_escaped_pointer(std::string& out, std::string_view pointer) {
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

error wrong_fingerprint_text(std::size_t position, std::string description) {
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
      return wrong_fingerprint_text(position + i,
                                    "a percent sign stands in %20 (space) and %25 (itself) only");
    }
    pointer += escape == "%20" ? ' ' : '%';
    i += 2;
  }
  if (!is_json_pointer(pointer)) {
    return wrong_fingerprint_text(
        position, "not a JSON Pointer: empty, or begins with /, and ~ only as ~0 and ~1");
  }
  return pointer;
}

/// Takes what stands before the rule for the body.
void read_head(std::string_view& text, fingerprint_rule& rule) {
  if (!text.starts_with(named_word)) return;
  text.remove_prefix(named_word.size());
  rule.head = fingerprint_head::named;
  for (;;) {
    const auto word = text.substr(0, text.find(' '));
    const bool header = word.starts_with('+') || word.starts_with('-');
    if (word.size() == text.size() || (!header && !word.starts_with(work_word))) return;
    if (header) rule.headers.emplace_back(word);
    text.remove_prefix(word.size() + 1);
  }
}

}  // namespace

std::string fingerprint_rule::text() const {
  std::string out;
  if (head == fingerprint_head::named) {
    out = named_word;
    for (const auto& header : headers) out.append(header) += ' ';
  }
  if (kind == fingerprint_kind::exact) return out += "exact";
  if (kind == fingerprint_kind::none) return out += "none";
  if (kind == fingerprint_kind::form) return out += "form";
  if (selection == json_selection::all || pointers.empty()) return out += "json";
  out += selection == json_selection::pick ? pick_word : omit_word;
  for (const auto& pointer : pointers) append_escaped_pointer(out += ' ', pointer);
  return out;
}

result<fingerprint_rule> fingerprint_rule::parse(std::string_view text) {
  fingerprint_rule rule;
  read_head(text, rule);
  if (text == "exact") return rule;
  rule.kind = fingerprint_kind::none;
  if (text == "none") return rule;
  rule.kind = fingerprint_kind::form;
  if (text == "form") return rule;
  rule.kind = fingerprint_kind::json;
  if (text == "json") return rule;

  const bool pick = text.starts_with(pick_word);
  if (!pick && !text.starts_with(omit_word)) {
    return wrong_fingerprint_text(0,
                                  "neither exact, none, form, json, json pick … nor json omit …");
  }
  rule.selection = pick ? json_selection::pick : json_selection::omit;
  std::size_t position = pick_word.size();
  static_assert(pick_word.size() == omit_word.size());
  if (position == text.size()) return wrong_fingerprint_text(position, "a JSON Pointer is missing");
  while (position < text.size()) {
    if (text[position] != ' ')
      return wrong_fingerprint_text(position, "a space is missing before a JSON Pointer");
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
