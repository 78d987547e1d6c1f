// The options of what is kept of an answer.
#include <algorithm>
#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/octets.hpp"
#include "config/policy/policy_check.hpp"
#include "config/policy/policy_options.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr std::string_view header_prefix = "header:";
constexpr std::size_t pointer_size_max = 1'024;

constexpr std::array<std::string_view, 2> answer_words{"full", "status"};

/// "header:X-Token", or a JSON Pointer.
std::string answer_part_complaint(std::string_view text) {
  constexpr std::array<std::string_view, 3> needed{"content-type", "content-encoding", "vary"};
  if (!text.starts_with(header_prefix)) {
    if (text.size() > pointer_size_max) return "a pointer of more than 1024 bytes";
    return text == "/" ? "\"/\" names a member without a name" : pointer_complaint(text);
  }
  const auto name = text.substr(header_prefix.size());
  if (!base::is_token(name)) {
    return "expected \"header:\" and the name of a header, got " + quoted(text);
  }
  const bool stays = std::any_of(needed.begin(), needed.end(),
                                 [&](auto other) { return base::iequals(name, other); });
  return stays ? std::string(name) + " always stays: without it the body can't be read" : "";
}

answer_parts parts_of(const std::vector<std::string>& texts) {
  answer_parts out;
  for (const auto& text : texts) {
    if (!text.starts_with(header_prefix)) {
      out.pointers.push_back(text);
      continue;
    }
    auto& name = out.headers.emplace_back(text.substr(header_prefix.size()));
    for (char& c : name) c = base::ascii_lower(c);
  }
  return out;
}

const row<policy_draft> answer_table[]{
    {{.name = "answer",
      .flag = "answer",
      .kind = value_kind::choice,
      .fallback = "full",
      .text = "`status` keeps status and headers of an answer without its body.",
      .choices = answer_words},
     [](policy_draft& d, const option_value& v) { d.policy.keep_body = number(v) == 0; }},
    {{.name = "answer_pick",
      .flag = "answer-pick",
      .kind = value_kind::list,
      .example = "/id,/status,header:Location",
      .text = "Of an answer only these parts are kept and replayed: values of its JSON by JSON "
              "Pointer (a segment `*` stands for every element and every member), and header "
              "fields as `header:NAME`. Where no pointer is named, the whole body is kept, and "
              "where no header is named, all headers. The first caller gets the whole answer. See "
              "[less than the whole answer](encryption.md#less-than-the-whole-answer).",
      .complaint = answer_part_complaint},
     [](policy_draft& d, const option_value& v) { d.policy.pick = parts_of(list(v)); }},
    {{.name = "redact",
      .flag = "redact",
      .kind = value_kind::list,
      .example = "/card/number,/cards/*/cvv",
      .text = "These parts of an answer, written like those of `answer_pick`, are not kept: a "
              "text becomes `[redacted]`, another value null, a header is left out. Such a replay "
              "has `Onceguard-Redacted: true`. An answer that is no JSON is then not kept at all.",
      .complaint = answer_part_complaint},
     [](policy_draft& d, const option_value& v) { d.policy.redact = parts_of(list(v)); }},
};

}  // namespace

std::span<const row<policy_draft>> answer_rows() { return answer_table; }

}  // namespace onceguard::config
