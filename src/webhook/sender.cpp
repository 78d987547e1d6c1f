#include "webhook/sender.hpp"

#include <algorithm>

namespace onceguard::webhook {

namespace {

using kind = pattern_part::kind;
using location = source::location;

/// Whether what is signed depends on the whole body, by itself.
bool signs_body(const pattern& content) {
  return contains(content, kind::body) || contains(content, kind::form) ||
         contains(content, kind::crc32);
}

/// Whether it depends on any part of the body.
bool signs_part_of_body(const sender& about) {
  return signs_body(about.content) || about.body_hash ||
         std::any_of(about.content.begin(), about.content.end(), [](const pattern_part& part) {
           return part.type == kind::value &&
                  (part.position.where == location::json || part.position.where == location::form ||
                   part.position.where == location::form_json);
         });
}

bool signs(const sender& about, const source& value) {
  const auto& content = about.content;
  if (contains(content, value)) return true;
  switch (value.where) {
    case location::signed_hash:
      return true;
    case location::query:
      return contains(content, kind::url);
    case location::header:
      return contains(content, kind::id);  // complaint() has seen that it is this header
    case location::json:
      // A CRC-32 is no protection, and where the body may be a form instead, nothing says where
      // one of its values ends.
      return contains(content, kind::body) || (about.body_hash && !signs_body(content));
    case location::form:
    case location::form_json:
      return contains(content, kind::body);
    case location::signature:
      break;
  }
  return false;
}

std::string complaint_about_id(const sender& about) {
  if (about.id.empty()) return "id: missing";
  for (const auto& one : about.id) {
    for (const auto& part : one) {
      if (part.position.where == location::signature) {
        return "id: can't be in the text of the signature";
      }
    }
  }
  if (!contains(about.content, kind::id)) return {};
  const bool header = about.id.size() == 1 && about.id.front().size() == 1 &&
                      about.id.front().front().position.where == location::header;
  return header ? "" : "signed: {id} needs an id in a header";
}

std::string complaint_about_timestamp(const sender& about) {
  const bool signs_timestamp = contains(about.content, kind::timestamp);
  if (!about.timestamp) {
    if (signs_timestamp) return "signed: {timestamp} needs timestamp";
    return about.tolerance_seconds > 0 ? "tolerance: needs timestamp" : "";
  }
  const auto where = about.timestamp->where;
  if (where != location::header && where != location::signature) {
    return "timestamp: expected \"header:NAME\" or \"signature:NAME\"";
  }
  return signs_timestamp ? "" : "timestamp: is not in signed, so anybody can change it";
}

bool is_fixed(const pattern_part& part) {
  return part.type == kind::literal || part.type == kind::webhook_id;
}

/// Whether nothing says where one of two parts ends that are signed side by side: then one text
/// that was signed could be cut in another place, into another id and body. A URL and a body are
/// kept apart when they arrive, and so is a time whose distance from now is limited.
bool run_together(const sender& about, const pattern_part& before, const pattern_part& behind) {
  if (is_fixed(before) || is_fixed(behind)) return false;
  if (before.type == kind::url && behind.type == kind::body) return false;
  const bool timed = before.type == kind::timestamp || behind.type == kind::timestamp;
  return !timed || about.tolerance_seconds == 0;
}

/// The whole of what is signed is an id that no border can change.
bool is_known_by_hash(const sender& about) {
  return std::all_of(about.id.begin(), about.id.end(), [](const pattern& one) {
    return one.size() == 1 && one.front().type == kind::value &&
           one.front().position.where == location::signed_hash;
  });
}

std::string complaint_about_borders(const sender& about) {
  if (is_known_by_hash(about)) return {};
  for (std::size_t i = 1; i < about.content.size(); ++i) {
    if (!run_together(about, about.content[i - 1], about.content[i])) continue;
    return "signed: two values side by side, and nothing says where the first one ends; with "
           "id = [\"signed-hash\"] it does not matter";
  }
  return {};
}

std::string complaint_about_content(const sender& about) {
  if (!signs_part_of_body(about))
    return "signed: has nothing of the body, so anybody can change it";
  std::size_t greedy = 0;
  for (const auto& part : about.content) {
    if (part.type == kind::value && part.position.where == location::signed_hash) {
      return "signed: {signed-hash} can't be a part of what it is made of";
    }
    if (part.takes_any) ++greedy;
  }
  if (greedy > 1) return "signed: only one value can have a star, or its end would not be known";
  if (!about.body_hash) return {};
  const auto where = about.body_hash->where;
  if (where != location::header && where != location::query) {
    return "body_hash: expected \"header:NAME\" or \"query:NAME\"";
  }
  const bool whole_url = where == location::query && contains(about.content, kind::url);
  if (whole_url || contains(about.content, *about.body_hash)) return {};
  return "body_hash: is not in signed, so anybody can change it";
}

std::string complaint_about_signature(const sender& about) {
  if (!about.signature) return "signature: missing";
  const auto where = about.signature->where;
  if (where != location::header && where != location::json) {
    return "signature: expected \"header:NAME\" or \"json:/POINTER\"";
  }
  const bool rsa = about.algorithm == signature_algorithm::rsa_sha256;
  const bool pem = about.secret == secret_form::pem;
  if (rsa && !pem) return "algorithm: \"rsa-sha256\" needs secret = \"pem\"";
  if (pem && !rsa) return "secret: \"pem\" needs algorithm = \"rsa-sha256\"";
  return {};
}

}  // namespace

std::string complaint(const sender& about) {
  for (auto* const part : {complaint_about_id, complaint_about_signature, complaint_about_content,
                           complaint_about_timestamp, complaint_about_borders}) {
    if (auto fault = part(about); !fault.empty()) return fault;
  }
  return {};
}

bool signs_id(const sender& about) {
  return std::all_of(about.id.begin(), about.id.end(), [&](const pattern& one) {
    return std::all_of(one.begin(), one.end(), [&](const pattern_part& part) {
      return part.type == kind::literal || signs(about, part.position);
    });
  });
}

}  // namespace onceguard::webhook
