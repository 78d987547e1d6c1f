#include "http/replayed_answer.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "core/gzip.hpp"

namespace onceguard::http {
namespace {

const std::string* value_in(const answer& stored, std::string_view name) noexcept {
  for (const auto& [held, value] : stored.headers) {
    if (base::iequals(held, name)) return &value;
  }
  return nullptr;
}

void drop(answer& made, std::string_view name) {
  std::erase_if(made.headers,
                [&](const auto& header) { return base::iequals(header.first, name); });
}

/// Whether a weight is 0: ";q=0", "; Q=0.000".
bool is_refused(std::string_view parameters) noexcept {
  while (!parameters.empty()) {
    const auto end = std::min(parameters.find(';'), parameters.size());
    const auto one = base::trim(parameters.substr(0, end));
    if (base::iequals(one.substr(0, 2), "q=")) {
      return base::trim(one.substr(2)).find_first_not_of("0.") == one.npos;
    }
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  return false;
}

bool depends_on_coding(const answer& stored) {
  bool out = false;
  for (const auto& [name, value] : stored.headers) {
    if (!base::iequals(name, "vary")) continue;
    base::each_list_element(value, [&](std::string_view element) {
      out = out || element == "*" || base::iequals(element, "accept-encoding");
    });
  }
  return out;
}

/// Who says nothing accepts everything (RFC 9110 section 12.5.3), unless the service said that its
/// answer depends on it.
bool accepts_gzip(const answer& stored, std::span<const base::field> fields) {
  if (base::find_field(fields, "accept-encoding") == nullptr) return !depends_on_coding(stored);
  bool named = false;
  bool refused = false;
  bool others = false;
  for (const auto& f : fields) {
    if (!base::iequals(f.name, "accept-encoding")) continue;
    base::each_list_element(f.value, [&](std::string_view element) {
      const auto coding = base::trim(element.substr(0, element.find(';')));
      const bool no = is_refused(element.substr(coding.size()));
      if (base::iequals(coding, "gzip") || base::iequals(coding, "x-gzip")) {
        (no ? refused : named) = true;
      } else if (coding == "*") {
        others = !no;
      }
    });
  }
  return named || (others && !refused);
}

bool must_unpack(const answer& stored, std::span<const base::field> fields) {
  const auto* coding = value_in(stored, "content-encoding");
  const bool gzip =
      coding != nullptr && (base::iequals(*coding, "gzip") || base::iequals(*coding, "x-gzip"));
  return gzip && !stored.body.empty() && !accepts_gzip(stored, fields);
}

/// Whether only the page of another origin may read the answer as it is stored.
bool is_for_another_origin(const answer& stored, std::span<const base::field> fields) {
  const auto* origin = base::find_field(fields, "origin");
  const auto* allowed = value_in(stored, "access-control-allow-origin");
  return origin != nullptr && allowed != nullptr && *allowed != "*" && *allowed != origin->value;
}

}  // namespace

answer_ptr answer_for(answer_ptr stored, std::span<const base::field> fields,
                      const route_policy& policy, std::size_t longest) {
  // With `cors`, the service's fields are left alone, on a replay like on the first answer.
  const bool other = policy.cors.empty() && is_for_another_origin(*stored, fields);
  std::optional<std::string> contents;
  if (must_unpack(*stored, fields)) contents = core::gunzip(stored->body, longest);
  if (!other && !contents) return stored;
  auto out = std::make_shared<answer>(*stored);
  if (contents) {
    out->body = std::move(*contents);
    // These are of the packed bytes.
    for (const auto name :
         {"content-encoding", "etag", "content-md5", "digest", "content-digest", "repr-digest"}) {
      drop(*out, name);
    }
  }
  if (other) {
    drop(*out, "access-control-allow-origin");
    drop(*out, "access-control-allow-credentials");
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> fields_for_replay(
    std::span<const base::field> fields) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& f : fields) {
    if (base::iequals(f.name, "accept-encoding") || base::iequals(f.name, "origin")) {
      out.emplace_back(f.name, f.value);
    }
  }
  return out;
}

}  // namespace onceguard::http
