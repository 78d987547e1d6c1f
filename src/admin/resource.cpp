#include "admin/resource.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/form.hpp"
#include "base/url.hpp"
#include "http1/message.hpp"

namespace onceguard::admin {
namespace {

/// Whether the segments fit the pattern. `found` becomes the one that stands for the parameter.
bool fits_resource(std::string_view pattern, const std::vector<std::string>& segments,
                   std::string& found) {
  std::string_view parameter;
  for (const auto& segment : segments) {
    if (!pattern.starts_with('/')) return false;
    pattern.remove_prefix(1);
    const auto wanted = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(wanted.size());
    const bool free = wanted.starts_with('{');
    if (free ? segment.empty() : segment != wanted) return false;
    if (free) parameter = segment;
  }
  if (!pattern.empty()) return false;
  found = parameter;
  return true;
}

/// What stands between the slashes, each decoded by itself: a name may hold an escaped slash. None:
/// an escape is malformed.
std::optional<std::vector<std::string>> decoded_segments(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const auto segment = path.substr(0, path.find('/'));
    auto decoded = base::percent_decoded(segment);
    if (!decoded) return std::nullopt;
    out.push_back(*std::move(decoded));
    path.remove_prefix(segment.size());
  }
  return out;
}

}  // namespace

std::string_view request::parameter(std::string_view name) const noexcept {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

response refusal(std::uint16_t status, std::string_view detail) {
  return refusal(status, detail, nlohmann::ordered_json::object());
}

response refusal(std::uint16_t status, std::string_view detail,
                 const nlohmann::ordered_json& members) {
  nlohmann::ordered_json body;
  body["type"] = "about:blank";
  body["title"] = http1::reason_of(status);
  body["status"] = status;
  body["detail"] = detail;
  body.update(members);
  using handling = nlohmann::ordered_json::error_handler_t;
  response out{status, body.dump(-1, ' ', false, handling::replace), "application/problem+json"};
  if (status == 401) out.fields = "WWW-Authenticate: Bearer\r\n";
  return out;
}

bool read_target(std::string_view target, request& out) {
  if (!target.starts_with('/')) return false;
  const auto question = target.find('?');
  const auto path = target.substr(0, question);
  auto decoded = base::percent_decoded(path);
  auto segments = decoded_segments(path);
  if (!decoded || !segments) return false;
  out.path = *std::move(decoded);
  out.segments = *std::move(segments);
  if (question == target.npos) return true;
  auto query = base::parse_form(target.substr(question + 1));
  if (!query) return false;
  out.query = *std::move(query);
  return true;
}

match find_resource(const resources& all, request& request) {
  match out;
  const auto method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  for (const auto& one : all) {
    if (!fits_resource(one.pattern, request.segments, request.segment)) continue;
    if (one.method == method) {
      out.found = &one;
      return out;
    }
    out.allowed.append(out.allowed.empty() ? "" : ", ").append(one.method);
    if (one.method == "GET") out.allowed += ", HEAD";
  }
  return out;
}

}  // namespace onceguard::admin
