#include "config/table/outcome_rules.hpp"

#include <algorithm>
#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/octets.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using base::is_digit;

namespace {

constexpr std::string_view header_prefix = "header:";
constexpr std::string_view json_prefix = "json:";

bool names_part(std::string_view text) noexcept {
  return text.starts_with(header_prefix) || text.starts_with(json_prefix);
}

/// "header:NAME", "header:NAME=VALUE", "json:/POINTER" or "json:/POINTER=VALUE".
answer_part part_of(std::string_view text) {
  answer_part out;
  out.json = text.starts_with(json_prefix);
  text.remove_prefix(out.json ? json_prefix.size() : header_prefix.size());
  const auto equals = text.find('=');
  out.name = base::trim(text.substr(0, equals));
  if (equals != text.npos) out.value = base::trim(text.substr(equals + 1));
  if (!out.json) {
    for (auto& c : out.name) c = base::ascii_lower(c);
  }
  return out;
}

std::string part_complaint(std::string_view text) {
  const auto part = part_of(text);
  const bool named =
      part.json ? !part.name.empty() && is_json_pointer(part.name) : base::is_token(part.name);
  if (!named || text.ends_with('=')) {
    return "expected \"header:NAME\", \"header:NAME=VALUE\", \"json:/POINTER\" or "
           "\"json:/POINTER=VALUE\", got " +
           quoted(text);
  }
  const bool reserved = !part.json && part.name.starts_with("onceguard-");
  return reserved ? "what Onceguard's own headers say needs no rule, got " + quoted(text)
                  : std::string();
}

constexpr std::array<std::string_view, 4> words{"complete", "release", "unknown", "fail"};

outcome_rule rule_of(std::string_view word) {
  // In the order of `words`.
  constexpr std::array rules{outcome_rule::complete, outcome_rule::release, outcome_rule::unknown,
                             outcome_rule::fail};
  const auto found = std::find(words.begin(), words.end(), word);
  return rules[static_cast<std::size_t>(found - words.begin()) % rules.size()];
}

}  // namespace

std::span<const std::string_view> outcome_words() noexcept { return words; }

std::string outcome_complaint(std::string_view text) {
  if (names_part(text)) return part_complaint(text);
  const bool status = text.size() == 3 && text[0] >= '1' && text[0] <= '5' &&
                      (text.substr(1) == "xx" || (is_digit(text[1]) && is_digit(text[2])));
  if (!status) {
    return "expected a status such as \"402\", a class such as \"5xx\", or a part of the answer "
           "such as \"header:grpc-status\" or \"json:/errors\", got " +
           quoted(text);
  }
  return text[0] == '1' ? "an answer of 1xx is never the final one, got " + quoted(text)
                        : std::string();
}

void assign_outcomes(route_policy& policy, const outcome_list& list) {
  policy.outcome_status.clear();
  policy.outcome_class.clear();
  policy.outcome_parts.clear();
  for (const auto& [name, word] : list) {
    const auto meaning = rule_of(word);
    if (names_part(name)) {
      auto part = part_of(name);
      part.meaning = meaning;
      policy.outcome_parts.push_back(std::move(part));
    } else if (name.ends_with("xx")) {
      policy.outcome_class[static_cast<std::uint16_t>(name[0] - '0')] = meaning;
    } else {
      policy.outcome_status[static_cast<std::uint16_t>(std::stoi(name))] = meaning;
    }
  }
}

}  // namespace onceguard::config
