// The way back of record_json(): the records that the admin API answers with.
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/time_text.hpp"
#include "store/record_filter.hpp"
#include "text/record_json.hpp"

namespace onceguard {

using reader = base::json_reader<nlohmann::ordered_json>;

namespace {

template <class Digest>
Digest digest_of(const reader& value) {
  Digest out{};
  if (!base::from_hex(value.text(), out)) value.refuse("is no digest");
  return out;
}

std::int64_t time_in(const reader& object, const char* name) {
  const auto found = object.find(name);
  if (!found) return 0;
  const auto time = base::parse_time(found->text());
  if (!time) found->refuse("is no time");
  return *time;
}

milliseconds duration_in(const reader& object, const char* name) {
  return milliseconds(object.at(name).as<std::int64_t>());
}

answer_kept read_kept(const reader& value) {
  using enum answer_kept;
  const auto name = value.text();
  for (const auto kept : {full, status_only, too_large, streamed, none}) {
    if (name_of(kept) == name) return kept;
  }
  value.refuse("is none that is known here");
}

subject_ptr read_subject(const reader& object) {
  auto out = std::make_shared<subject>();
  out->key = object.at("key").text();
  out->scope = digest_of<digest>(object.at("scope"));
  out->scope_kind = object.at("scope_kind").text();
  out->method = object.at("method").text();
  out->path = object.at("path").text();
  out->route = object.at("route").text();
  out->print.value = digest_of<digest>(object.at("fingerprint"));
  out->print.method = object.at("fingerprint_method").text();
  return out;
}

void read_answer(const reader& object, record_view& out) {
  out.stored.kept = read_kept(object.at("kept"));
  const auto status = object.find("status");
  if (!status) return;
  auto stored = std::make_shared<answer>();
  stored->status = status->as<std::uint16_t>();
  if (const auto headers = object.find("headers")) {
    headers->each([&](const reader& field) { stored->headers.push_back(field.pair()); });
  }
  object.take("body", stored->body);
  if (const auto base64 = object.find("body_base64")) {
    auto bytes = base::from_base64(base64->text());
    if (!bytes) base64->refuse("is no base64");
    stored->body = *std::move(bytes);
  }
  out.body_size = object.at("body_size").as<std::size_t>();
  out.stored.answer = std::move(stored);
}

record_view read(const reader& object) {
  record_view out;
  auto& stored = out.stored;
  out.id = digest_of<record_id>(object.at("record"));
  const auto state = state_of(object.at("state").text());
  if (!state) object.at("state").refuse("is none that is known here");
  out.state = *state;
  // An unknown outcome is one of a lease that ended.
  stored.state = *state == observed_state::unknown ? record_state::in_progress
                                                   : static_cast<record_state>(*state);
  stored.about = read_subject(object);
  std::string why;
  object.take("why", why);
  stored.why = reason_of(why).value_or(unknown_reason::none);
  object.take("why_status", stored.why_status);
  stored.attempt = object.at("attempt").as<std::uint32_t>();
  stored.token = object.at("token").as<token>();
  if (const auto revision = object.find("revision")) {  // an older gateway does not tell it
    out.revision = revision->as<std::int64_t>();
  }
  stored.claimed_at_wall = time_in(object, "claimed_at");
  stored.settled_at_wall = time_in(object, "settled_at");
  stored.by_operator = object.at("by_operator").as<bool>();
  stored.by_application = object.at("by_application").as<bool>();
  stored.incident = object.at("incident").as<bool>();
  stored.maybe_repeated = object.at("maybe_repeated").as<bool>();
  out.age = duration_in(object, "age_ms");
  out.lease_left = duration_in(object, "lease_left_ms");
  out.retry_after = duration_in(object, "retry_after_ms");
  out.retention_left = duration_in(object, "retention_left_ms");
  if (*state == observed_state::completed) read_answer(object, out);
  return out;
}

}  // namespace

result<record_view> read_record(const nlohmann::ordered_json& object) {
  try {
    return read(reader(object, "the record"));
  } catch (const base::malformed_json& fault) {
    return error(errc::record_unreadable, fault.text);
  }
}

}  // namespace onceguard
