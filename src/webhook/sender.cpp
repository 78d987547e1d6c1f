#include "webhook/sender.hpp"

#include <algorithm>
#include <array>

#include <onceguard/fingerprint.hpp>

#include "base/octets.hpp"

namespace onceguard::webhook {

namespace {

using location = source::location;

constexpr std::string_view id_part = "{id}";
constexpr std::string_view timestamp_part = "{timestamp}";
constexpr std::string_view body_part = "{body}";

bool contains(const std::string& content, std::string_view part) {
  return content.find(part) != std::string::npos;
}

}  // namespace

result<source> parse_source(std::string_view text) {
  struct kind {
    std::string_view prefix;
    location where;
  };
  constexpr std::array<kind, 4> kinds{{{"header:", location::header},
                                       {"json:", location::json},
                                       {"form:", location::form},
                                       {"signature:", location::signature}}};
  for (const auto& one : kinds) {
    if (!text.starts_with(one.prefix)) continue;
    const auto name = text.substr(one.prefix.size());
    const bool fits =
        one.where == location::json ? !name.empty() && is_json_pointer(name) : base::is_token(name);
    if (fits) return source{one.where, std::string(name)};
  }
  return error(errc::invalid_argument,
               "expected \"header:NAME\", \"json:/POINTER\", \"form:NAME\" or \"signature:NAME\"");
}

std::string complaint(const sender& about) {
  if (about.id.empty()) return "id: missing";
  for (const auto& one : about.id) {
    if (one.where == location::signature) return "id: can't be in the header of the signature";
  }
  if (about.signature_header.empty()) return "signature_header: missing";
  if (!contains(about.content, body_part)) return "signed: has no {body}, so anybody can change it";
  if (contains(about.content, id_part)) {
    const bool header = about.id.size() == 1 && about.id.front().where == location::header;
    if (!header) return "signed: {id} needs an id in a header";
  }
  const bool signs_timestamp = contains(about.content, timestamp_part);
  if (about.timestamp.size() > 1) return "timestamp: more than one";
  if (signs_timestamp && about.timestamp.empty()) return "signed: {timestamp} needs timestamp";
  if (!about.timestamp.empty()) {
    const auto where = about.timestamp.front().where;
    if (where != location::header && where != location::signature) {
      return "timestamp: expected \"header:NAME\" or \"signature:NAME\"";
    }
    if (!signs_timestamp) return "timestamp: is not in signed, so anybody can change it";
  }
  if (about.tolerance_seconds > 0 && about.timestamp.empty()) return "tolerance: needs timestamp";
  return {};
}

bool signs_id(const sender& about) {
  return contains(about.content, id_part) ||
         std::all_of(about.id.begin(), about.id.end(), [](const source& one) {
           return one.where == location::json || one.where == location::form;
         });
}

}  // namespace onceguard::webhook
