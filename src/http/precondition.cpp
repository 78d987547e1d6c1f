#include <algorithm>
#include <string>
#include <string_view>

#include <onceguard/precondition.hpp>

#include "base/ascii.hpp"

namespace onceguard::http {
inline namespace v1 {
namespace {

constexpr int attempts_max = 16;

/// A condition of a request: not there, not readable, or what it says.
struct read_condition {
  bool present = false;
  bool malformed = false;
  etag_condition value;
};

read_condition read(const request& request, std::string_view name) {
  read_condition out;
  std::string joined;
  for (const auto& f : request.fields) {
    if (!base::iequals(f.name, name)) continue;
    if (out.present) joined += ',';
    joined += f.value;
    out.present = true;
  }
  if (!out.present) return out;
  auto parsed = parse_etag_condition(joined);
  out.malformed = !parsed;
  if (parsed) out.value = std::move(*parsed);
  return out;
}

template <class Equal>
bool matches(const etag_condition& condition, const std::optional<etag>& current, Equal equal) {
  if (!current) return false;
  return condition.any || std::any_of(condition.tags.begin(), condition.tags.end(),
                                      [&](const etag& tag) { return equal(tag, *current); });
}

/// RFC 9110 section 13.2.1: such methods select no representation, and their conditions are
/// ignored.
bool selects_nothing(std::string_view method) noexcept {
  return method == "CONNECT" || method == "OPTIONS" || method == "TRACE";
}

bool failed_to_match(const request& request, const std::optional<etag>& current) {
  const auto match = read(request, "if-match");
  return match.present && !matches(match.value, current, strongly_equal);
}

std::optional<etag> tag_of(const current_version& now) {
  if (!now.version) return std::nullopt;
  return make_etag(*now.version);
}

/// What a change comes to without being made; none: it is to be made.
std::optional<change_kind> ending_of(const request& request, const current_version& now,
                                     const change_rules& rules) {
  if (!now.version && !rules.creates) {
    return now.applied ? change_kind::applied : change_kind::absent;
  }
  const auto current = tag_of(now);
  switch (evaluate(request, current, rules.required)) {
    case precondition::proceed:
      return std::nullopt;
    case precondition::required:
      return change_kind::required;
    case precondition::malformed:
      return change_kind::malformed;
    case precondition::not_modified:
    case precondition::failed:
      break;
  }
  const bool repeated = now.applied && failed_to_match(request, current);
  return repeated ? change_kind::applied : change_kind::failed;
}

}  // namespace

precondition evaluate(const request& request, const std::optional<etag>& current, bool required) {
  if (selects_nothing(request.method)) return precondition::proceed;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  const auto match = read(request, "if-match");
  auto none_match = read(request, "if-none-match");
  if (reads && none_match.malformed) none_match = {};
  if (match.malformed || none_match.malformed) return precondition::malformed;
  if (required && !reads && !match.present && !none_match.value.any) return precondition::required;
  // RFC 9110 section 13.2.2: If-Match first, compared strongly; then If-None-Match, weakly.
  if (match.present && !matches(match.value, current, strongly_equal)) return precondition::failed;
  if (none_match.present && matches(none_match.value, current, weakly_equal)) {
    return reads ? precondition::not_modified : precondition::failed;
  }
  return precondition::proceed;
}

std::uint16_t status_of(precondition found) noexcept {
  switch (found) {
    case precondition::proceed:
      break;
    case precondition::not_modified:
      return 304;
    case precondition::failed:
      return 412;
    case precondition::required:
      return 428;
    case precondition::malformed:
      return 400;
  }
  return 200;
}

std::uint16_t status_of(change_kind kind) noexcept {
  switch (kind) {
    case change_kind::created:
      return 201;
    case change_kind::changed:
    case change_kind::applied:
      break;
    case change_kind::absent:
      return 404;
    case change_kind::failed:
      return 412;
    case change_kind::required:
      return 428;
    case change_kind::malformed:
      return 400;
    case change_kind::contended:
      return 503;
  }
  return 200;
}

changed change(const request& request, const versioned_row& row, const change_rules& rules) {
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const auto now = row.load();
    if (const auto ending = ending_of(request, now, rules)) return {*ending, now.version};
    if (const auto made = row.store(now.version)) {
      return {now.version ? change_kind::changed : change_kind::created, made};
    }
  }
  return {change_kind::contended, std::nullopt};
}

}  // namespace v1
}  // namespace onceguard::http
