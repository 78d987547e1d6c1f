#include "http/kept_parts.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "core/gzip.hpp"
#include "json/selected_json.hpp"

namespace onceguard::http {
namespace {

constexpr std::string_view no_json = "its body is no JSON, or names a member twice";
constexpr std::string_view other_coding = "its body has a coding other than gzip";
constexpr std::string_view too_long = "its body is unpacked longer than max_answer_body";

std::string lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = base::ascii_lower(c);
  return out;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Without these, what is kept could not be read, or the end of a redirect could not be found.
bool is_needed(const std::string& name, std::uint16_t status) {
  constexpr std::array<std::string_view, 3> always{"content-type", "content-encoding", "vary"};
  if (name == "location") return status / 100 == 3;
  return std::find(always.begin(), always.end(), name) != always.end();
}

bool names_one_of(const std::string& name, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// What may have been made over the header as well.
bool is_signature(const std::string& name) {
  constexpr std::array<std::string_view, 3> words{"signature", "hmac", "jws"};
  return names_one_of(name, words);
}

/// What was made of the bytes of the body.
bool speaks_of_bytes(const std::string& name) {
  constexpr std::array<std::string_view, 10> words{
      "etag", "content-md5", "digest", "checksum", "hash", "md5", "sha1", "sha2", "sha5", "crc"};
  return names_one_of(name, words);
}

/// True: a field is gone.
bool keep_fields_of(const route_policy& policy, answer& kept) {
  const auto before = kept.headers.size();
  std::erase_if(kept.headers, [&](const auto& header) {
    const auto name = lower(header.first);
    const bool needed = is_needed(name, kept.status);
    if (needed) return false;
    if (has(policy.redact.headers, name)) return true;
    return !policy.pick.headers.empty() && !has(policy.pick.headers, name);
  });
  return kept.headers.size() != before;
}

/// The body as it reads without its coding; `why` says why it can't be read.
std::optional<std::string> unpacked(const answer& kept, std::size_t longest,
                                    std::string_view& why) {
  std::optional<std::string> contents(kept.body);
  for (const auto& [name, value] : kept.headers) {
    if (!base::iequals(name, "content-encoding") || value.empty()) continue;
    if (base::iequals(value, "identity")) continue;
    const bool gzip = base::iequals(value, "gzip") || base::iequals(value, "x-gzip");
    why = gzip ? too_long : other_coding;
    if (!gzip) return std::nullopt;
    contents = core::gunzip(*contents, longest);
    if (!contents) return std::nullopt;
  }
  return contents;
}

/// True: the body is another one now.
bool keep_values_of(const route_policy& policy, answer& kept, std::string_view& why) {
  if (kept.body.empty() || !keeps_parts_of_json(policy)) return false;
  std::optional<selected_json> made;
  if (const auto text = unpacked(kept, policy.max_answer_body, why)) {
    why = no_json;
    const json_selection_rules rules{policy.pick.pointers, policy.redact.pointers};
    made = select_json(*text, rules, policy.max_answer_body);
  }
  if (made) why = {};
  if (made && !made->changed) return false;
  kept.body = made ? std::move(made->text) : std::string();
  return true;
}

}  // namespace

bool keeps_parts_of_json(const route_policy& policy) noexcept {
  return !policy.pick.pointers.empty() || !policy.redact.pointers.empty();
}

bool keeps_parts(const route_policy& policy) noexcept {
  return keeps_parts_of_json(policy) || !policy.pick.headers.empty() ||
         !policy.redact.headers.empty();
}

std::string fault_of_parts(const route_policy& policy) {
  for (const auto* parts : {&policy.pick, &policy.redact}) {
    for (const auto& pointer : parts->pointers) {
      if (pointer.empty() || !is_json_pointer(pointer)) {
        return "\"" + pointer + "\" is no JSON Pointer to a part of an answer";
      }
    }
    for (const auto& name : parts->headers) {
      if (name != lower(name)) return "the header \"" + name + "\" is not in lower case";
    }
  }
  return {};
}

std::string_view keep_parts(const route_policy& policy, answer& kept) {
  if (!keeps_parts(policy)) return {};
  std::string_view why;
  const bool other_body = keep_values_of(policy, kept, why);
  const bool other_head = keep_fields_of(policy, kept);
  if (!other_body && !other_head) return why;
  std::erase_if(kept.headers, [&](const auto& header) {
    const auto name = lower(header.first);
    if (name == lower(redacted_field)) return true;
    if (is_signature(name)) return true;
    return other_body && (name == "content-encoding" || speaks_of_bytes(name));
  });
  kept.headers.emplace_back(redacted_field, "true");
  return why;
}

void keep_parts_of(const route_policy& policy, std::string_view route, settle_terms& terms) {
  if (!terms.answer || !keeps_parts(policy)) return;
  auto kept = std::make_shared<answer>(*terms.answer);
  const auto why = keep_parts(policy, *kept);
  if (why.empty()) {
    terms.answer = std::move(kept);
    return;
  }
  base::log(base::event::answer_not_redacted, {{"route", route}, {"why", why}});
  const bool redirect = kept->status / 100 == 3;
  terms.kept = redirect ? answer_kept::status_only : answer_kept::none;
  terms.answer = redirect ? std::move(kept) : nullptr;
}

void keep_parts_of(const route_policy& policy, std::string_view route, effect_report& report) {
  settle_terms terms;
  terms.answer = report.answer;
  keep_parts_of(policy, route, terms);
  report.answer = std::move(terms.answer);
}

}  // namespace onceguard::http
