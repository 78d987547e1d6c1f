// The way back of record_json(): the records that the admin API answers with.
#include <algorithm>
#include <array>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/hash.hpp"
#include "store/record_filter.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"

namespace onceguard {

using nlohmann::ordered_json;

namespace {

using fault = std::runtime_error;

template <class Digest>
Digest read_digest(const ordered_json& object, const char* name) {
  Digest out{};
  if (!base::from_hex(object.at(name).get<std::string>(), out)) {
    throw fault(std::string(name) + " is no digest");
  }
  return out;
}

std::int64_t read_time(const ordered_json& object, const char* name) {
  if (!object.contains(name)) return 0;
  const auto time = base::parse_time(object[name].get<std::string>());
  if (!time) throw fault(std::string(name) + " is no time");
  return *time;
}

milliseconds read_duration(const ordered_json& object, const char* name) {
  return milliseconds(object.at(name).get<std::int64_t>());
}

answer_kept read_kept(const std::string& name) {
  using enum answer_kept;
  for (const auto kept : {full, status_only, too_large, streamed, none}) {
    if (name_of(kept) == name) return kept;
  }
  throw fault("kept is none " + json_string(name, true));
}

subject_ptr read_subject(const ordered_json& object) {
  auto out = std::make_shared<subject>();
  out->key = object.at("key").get<std::string>();
  out->scope = read_digest<digest>(object, "scope");
  out->scope_kind = object.at("scope_kind").get<std::string>();
  out->method = object.at("method").get<std::string>();
  out->path = object.at("path").get<std::string>();
  out->route = object.at("route").get<std::string>();
  out->print.value = read_digest<digest>(object, "fingerprint");
  out->print.method = object.at("fingerprint_method").get<std::string>();
  return out;
}

void read_answer(const ordered_json& object, record_view& out) {
  out.stored.kept = read_kept(object.at("kept").get<std::string>());
  if (!object.contains("status")) return;
  auto stored = std::make_shared<answer>();
  stored->status = object["status"].get<std::uint16_t>();
  for (const auto& field : object.value("headers", ordered_json::array())) {
    stored->headers.emplace_back(field.at(0).get<std::string>(), field.at(1).get<std::string>());
  }
  stored->body = object.value("body", "");
  if (object.contains("body_base64")) {
    auto bytes = base::from_base64(object["body_base64"].get<std::string>());
    if (!bytes) throw fault("body_base64 is no base64");
    stored->body = *std::move(bytes);
  }
  out.body_size = object.at("body_size").get<std::size_t>();
  out.stored.answer = std::move(stored);
}

record_view read(const ordered_json& object) {
  record_view out;
  auto& stored = out.stored;
  out.id = read_digest<record_id>(object, "record");
  const auto state = state_of(object.at("state").get<std::string>());
  if (!state) throw fault("state is none that is known here");
  out.state = *state;
  // An unknown outcome is one of a lease that ended.
  stored.state = *state == observed_state::unknown ? record_state::in_progress
                                                   : static_cast<record_state>(*state);
  stored.about = read_subject(object);
  stored.why = reason_of(object.value("why", "")).value_or(unknown_reason::none);
  stored.why_status = object.value("why_status", std::uint16_t{0});
  stored.attempt = object.at("attempt").get<std::uint32_t>();
  stored.token = object.at("token").get<token>();
  stored.claimed_at_wall = read_time(object, "claimed_at");
  stored.settled_at_wall = read_time(object, "settled_at");
  stored.by_operator = object.at("by_operator").get<bool>();
  stored.by_application = object.at("by_application").get<bool>();
  stored.incident = object.at("incident").get<bool>();
  stored.maybe_repeated = object.at("maybe_repeated").get<bool>();
  out.age = read_duration(object, "age_ms");
  out.lease_left = read_duration(object, "lease_left_ms");
  out.retry_after = read_duration(object, "retry_after_ms");
  out.retention_left = read_duration(object, "retention_left_ms");
  if (*state == observed_state::completed) read_answer(object, out);
  return out;
}

}  // namespace

result<record_view> read_record(const ordered_json& object) {
  try {
    return read(object);
  } catch (const ordered_json::exception& wrong) {
    return error(errc::record_unreadable, wrong.what());
  } catch (const fault& wrong) {
    return error(errc::record_unreadable, wrong.what());
  }
}

}  // namespace onceguard
