#include "core/redirect.hpp"

#include <onceguard/fingerprint.hpp>

#include "base/ascii.hpp"
#include "base/hex.hpp"

namespace onceguard::core {
namespace {

std::string_view location_of(const answer& made) noexcept {
  std::string_view location;
  for (const auto& [name, value] : made.headers) {
    if (base::iequals(name, "location")) location = value;
  }
  // RFC 3986 section 3.5: a fragment stays with the client, and is in no request.
  return location.substr(0, location.find('#'));
}

/// Cuts "http://host" or "//host" off, and returns the host; empty: there is none.
std::string_view take_host(std::string_view& location) noexcept {
  auto rest = location;
  const auto scheme = rest.find("://");
  if (scheme != rest.npos && rest.substr(0, scheme).find_first_of("/?") == rest.npos) {
    rest.remove_prefix(scheme + 1);
  }
  if (!rest.starts_with("//")) return {};
  rest.remove_prefix(2);
  const auto host = rest.substr(0, rest.find_first_of("/?"));
  location = rest.size() == host.size() ? std::string_view("/") : rest.substr(host.size());
  return host;
}

}  // namespace

std::string_view redirect_host(const answer& made) noexcept {
  auto location = location_of(made);
  const auto host = take_host(location);
  // Without a user's name, npos + 1 is 0: all of it.
  return host.substr(host.find('@') + 1);
}

std::optional<std::string> redirect_target(const answer& made, std::string_view path) {
  if (made.status != 307 && made.status != 308) return std::nullopt;
  auto rest = location_of(made);
  if (rest.empty()) return std::nullopt;
  const bool with_host = !take_host(rest).empty();
  if (rest.starts_with('/')) return std::string(rest);
  if (rest.starts_with('?')) return (with_host ? "/" : std::string(path)).append(rest);
  auto steps = rest;
  auto folder = path.substr(0, path.rfind('/') + 1);
  for (;;) {
    if (steps.starts_with("./")) {
      steps.remove_prefix(2);
    } else if (steps.starts_with("../")) {
      steps.remove_prefix(3);
      if (folder.size() > 1) folder = folder.substr(0, folder.rfind('/', folder.size() - 2) + 1);
    } else {
      return std::string(folder).append(steps);
    }
  }
}

digest redirected_scope(const digest& scope, std::string_view target) {
  return make_scope_digest(redirect_kind, base::to_hex(scope) + ' ' + std::string(target));
}

}  // namespace onceguard::core
