#include "webhook/pattern.hpp"

#include <algorithm>
#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/field.hpp"
#include "base/octets.hpp"
#include "base/value_text.hpp"

namespace onceguard::webhook {

namespace {

using kind = pattern_part::kind;
using location = source::location;

struct placeholder {
  std::string_view name;
  kind type;
};
constexpr std::array<placeholder, 7> placeholders{{{"id", kind::id},
                                                   {"timestamp", kind::timestamp},
                                                   {"body", kind::body},
                                                   {"crc32", kind::crc32},
                                                   {"form", kind::form},
                                                   {"url", kind::url},
                                                   {"webhook_id", kind::webhook_id}}};

/// The part that "{name}" is.
result<pattern_part> part_of(std::string_view name) {
  for (const auto& one : placeholders) {
    if (name == one.name) return pattern_part{.type = one.type};
  }
  pattern_part out{.type = kind::value};
  out.takes_any = name.starts_with('*');
  auto position = parse_source(name.substr(out.takes_any ? 1 : 0));
  const bool fits = position && position->where != location::signature &&
                    (position->where != location::signed_hash || !out.takes_any);
  if (!fits) {
    return error(errc::invalid_argument,
                 "there is no {" + std::string(name) +
                     "}; expected {id}, {timestamp}, {body}, {crc32}, {form}, {url}, {webhook_id}, "
                     "{header:NAME}, {json:/POINTER}, {form:NAME} or {query:NAME}");
  }
  out.position = *std::move(position);
  return out;
}

}  // namespace

result<source> parse_source(std::string_view text) {
  struct prefix {
    std::string_view text;
    location where;
  };
  constexpr std::array<prefix, 5> prefixes{{{"header:", location::header},
                                            {"json:", location::json},
                                            {"form:", location::form},
                                            {"query:", location::query},
                                            {"signature:", location::signature}}};
  if (text == "signed-hash") return source{location::signed_hash};
  for (const auto& one : prefixes) {
    if (!text.starts_with(one.text)) continue;
    const auto name = text.substr(one.text.size());
    if (one.where == location::form && name.find(":/") != name.npos) {
      const auto colon = name.find(":/");
      if (base::is_token(name.substr(0, colon)) && is_json_pointer(name.substr(colon + 1))) {
        return source{location::form_json, std::string(name)};
      }
      break;
    }
    const bool fits =
        one.where == location::json ? !name.empty() && is_json_pointer(name) : base::is_token(name);
    if (fits) return source{one.where, std::string(name)};
  }
  return error(errc::invalid_argument,
               "expected \"header:NAME\", \"json:/POINTER\", \"form:NAME\", \"query:NAME\" or "
               "\"signature:NAME\", got " +
                   base::quoted(text));
}

result<pattern> parse_pattern(std::string_view text) {
  pattern out;
  while (!text.empty()) {
    const auto begin = text.find_first_of("{}");
    if (begin != 0) out.push_back({.text = std::string(text.substr(0, begin))});
    if (begin == text.npos) break;
    const auto end = text.find('}', begin);
    if (text[begin] == '}' || end == text.npos) {
      return error(errc::invalid_argument, "has a brace that is not closed or not opened");
    }
    auto part = part_of(text.substr(begin + 1, end - begin - 1));
    if (!part) return part.error();
    out.push_back(*std::move(part));
    text.remove_prefix(end + 1);
  }
  return out;
}

result<pattern> parse_id(std::string_view text) {
  if (text.find('{') == text.npos) {
    auto position = parse_source(text);
    if (!position) {
      return error(errc::invalid_argument,
                   "expected \"header:NAME\", \"json:/POINTER\", \"form:NAME\", \"query:NAME\", "
                   "\"signed-hash\", or a text with several of them in braces, got " +
                       base::quoted(text));
    }
    return pattern{{.type = kind::value, .position = *std::move(position)}};
  }
  auto out = parse_pattern(text);
  if (!out) return out;
  for (const auto& part : *out) {
    if (part.type == kind::literal || (part.type == kind::value && !part.takes_any)) continue;
    return error(errc::invalid_argument,
                 "only {header:NAME}, {json:/POINTER}, {form:NAME}, {query:NAME} and {signed-hash} "
                 "can be in an id, got " +
                     base::quoted(text));
  }
  return out;
}

bool contains(const pattern& text, kind type) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [&](const pattern_part& part) { return part.type == type; });
}

bool contains(const pattern& text, const source& position) noexcept {
  return std::any_of(text.begin(), text.end(), [&](const pattern_part& part) {
    if (part.type != kind::value || part.position.where != position.where) return false;
    const bool header = position.where == location::header;
    return header ? base::same_name(part.position.name, position.name)
                  : part.position.name == position.name;
  });
}

bool stands_apart(const pattern& text, std::size_t index, std::string_view value) {
  const auto beside = [&](std::size_t other) -> std::string_view {
    return other < text.size() ? std::string_view(text[other].text) : std::string_view();
  };
  const auto before = index == 0 ? std::string_view() : beside(index - 1);
  const auto after = beside(index + 1);
  const bool begins = before.empty() || (std::string(before) += value).rfind(before) == 0;
  const bool ends = after.empty() || (std::string(value) += after).find(after) == value.size();
  return begins && ends;
}

}  // namespace onceguard::webhook
