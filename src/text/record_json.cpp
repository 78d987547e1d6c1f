#include "text/record_json.hpp"

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "store/record_view.hpp"
#include "text/json_text.hpp"

namespace onceguard {

using nlohmann::ordered_json;

ordered_json record_json(const record_view& seen, bool with_body) {
  const auto& r = seen.stored;
  ordered_json out;
  out["key"] = r.about->key;
  out["scope"] = base::to_hex(r.about->scope);
  out["scope_kind"] = r.about->scope_kind;
  out["record"] = base::to_hex(seen.id);
  out["state"] = name_of(seen.state);
  if (const auto why = reason_of(seen); why != unknown_reason::none) out["why"] = name_of(why);
  if (r.why_status != 0) out["why_status"] = r.why_status;
  out["method"] = r.about->method;
  out["path"] = r.about->path;
  out["route"] = r.about->route;
  out["fingerprint"] = base::to_hex(r.about->print.value);
  out["fingerprint_method"] = r.about->print.method;
  out["attempt"] = r.attempt;
  if (seen.recovery) out["step"] = seen.recovery->step;
  out["token"] = r.token;
  if (seen.revision) out["revision"] = *seen.revision;
  out["claimed_at"] = time_text(r.claimed_at_wall);
  if (r.settled_at_wall != 0) out["settled_at"] = time_text(r.settled_at_wall);
  out["age_ms"] = seen.age.count();
  out["lease_left_ms"] = seen.lease_left.count();
  out["retry_after_ms"] = seen.retry_after.count();
  out["retention_left_ms"] = seen.retention_left.count();
  out["by_operator"] = r.by_operator;
  out["by_application"] = r.by_application;
  out["incident"] = r.incident;
  out["maybe_repeated"] = r.maybe_repeated;
  if (r.state != record_state::completed) return out;
  out["kept"] = name_of(r.kept);
  if (!r.answer) return out;
  out["status"] = r.answer->status;
  out["body_size"] = seen.body_size;
  if (!with_body) return out;
  out["headers"] = ordered_json::array();
  for (const auto& [name, value] : r.answer->headers) {
    out["headers"].push_back(ordered_json::array({name, value}));
  }
  if (r.answer->body.empty() && seen.body_size != 0) return out;
  if (is_utf8(r.answer->body)) {
    out["body"] = r.answer->body;
  } else {
    out["body_base64"] = base::to_base64(r.answer->body);
  }
  return out;
}

ordered_json record_json(const unreadable_record& seen) {
  ordered_json out;
  out["key"] = nullptr;
  out["scope"] = nullptr;
  out["record"] = base::to_hex(seen.id);
  out["state"] = "unreadable";
  out["why"] = seen.why;
  return out;
}

std::string json_line(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace onceguard
