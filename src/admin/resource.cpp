#include "admin/resource.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "http1/message.hpp"

namespace onceguard::admin {
namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Decodes %XX, and in a query "+" for a space. None: not well formed.
std::optional<std::string> decoded_target_part(std::string_view text, bool query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += query && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (text.size() - i < 3) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

/// Whether the path fits the pattern. `segment` becomes what stands for the parameter.
bool fits_resource(std::string_view pattern, std::string_view path, std::string& segment) {
  const auto open = pattern.find('{');
  if (open == pattern.npos) return path == pattern;
  const auto before = pattern.substr(0, open);
  const auto after = pattern.substr(pattern.find('}') + 1);
  if (path.size() <= before.size() + after.size()) return false;
  if (!path.starts_with(before) || !path.ends_with(after)) return false;
  const auto middle = path.substr(before.size(), path.size() - before.size() - after.size());
  if (middle.find('/') != middle.npos) return false;
  segment = middle;
  return true;
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
  auto path = decoded_target_part(target.substr(0, question), false);
  if (!path) return false;
  out.path = *std::move(path);
  if (question == target.npos) return true;
  auto rest = target.substr(question + 1);
  while (!rest.empty()) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view{} : rest.substr(end + 1);
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = decoded_target_part(pair.substr(0, equals), true);
    auto value = decoded_target_part(
        equals == pair.npos ? std::string_view{} : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    out.query.emplace_back(*std::move(name), *std::move(value));
  }
  return true;
}

match find_resource(const resources& all, request& request) {
  match out;
  const auto method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  for (const auto& one : all) {
    if (!fits_resource(one.pattern, request.path, request.segment)) continue;
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
