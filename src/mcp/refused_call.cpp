#include "mcp/refused_call.hpp"

#include <algorithm>
#include <chrono>

#include "mcp/raw_json.hpp"

namespace onceguard::mcp {
namespace {

std::string_view name_of(next_step next) noexcept {
  switch (next) {
    case next_step::same_key:
      return "same-key";
    case next_step::new_key:
      return "new-key";
    case next_step::nothing:
      break;
  }
  return "no";
}

/// For programs.
std::string marks_of(const refused_call& refused) {
  std::string out = R"({"onceguard/outcome":)" + json_string(refused.outcome);
  out += R"(,"onceguard/retry":)" + json_string(name_of(refused.next));
  if (refused.next == next_step::same_key) {
    out += R"(,"onceguard/retry-after-ms":)" +
           std::to_string(std::max<std::int64_t>(refused.retry_after.count(), 1'000));
  }
  return out + '}';
}

std::string seconds(milliseconds time) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(time).count();
  return std::to_string(std::max<std::int64_t>(whole, 1)) + " s";
}

}  // namespace

refused_call refused_by(const refusal& why, std::string_view key) {
  const auto named = json_string(key);
  const auto again = " Wait " + seconds(why.retry_after) +
                     ", then send exactly the same call with the same idempotency key.";
  refused_call out;
  out.outcome = onceguard::name_of(why.kind);
  out.retry_after = why.retry_after;
  switch (why.kind) {
    case refusal_kind::busy:
      out.next = next_step::same_key;
      out.text = "The call with the idempotency key " + named +
                 " is still running. This repeat was not run." + again;
      return out;
    case refusal_kind::backoff:
      out.next = next_step::same_key;
      out.text = "The last attempt of the call with the idempotency key " + named +
                 " failed. This repeat was not run." + again;
      return out;
    case refusal_kind::mismatch:
      out.next = next_step::new_key;
      out.text =
          "The idempotency key " + named +
          " belongs to a call with another tool or other arguments. Nothing was run. If this "
          "is a new operation, send it with a new key; if it is a repeat, send the arguments "
          "of the first call.";
      return out;
    case refusal_kind::unknown:
      out.text = "It is unknown whether the call with the idempotency key " + named +
                 " took effect: its result never came. It is not run again by itself. Find out by "
                 "other tools whether the effect is there, or ask a person; do not repeat the call "
                 "with a new key before.";
      if (why.retry_after.count() > 0) out.next = next_step::same_key;
      return out;
    case refusal_kind::answer_not_kept:
    case refusal_kind::answer_unreadable:
      out.text = "The call with the idempotency key " + named +
                 " took effect before, and its result is not known any more. Do not repeat it.";
      return out;
    case refusal_kind::unrecorded:
    case refusal_kind::superseded:
      out.next = next_step::same_key;
      out.text = "The call with the idempotency key " + named +
                 " was run, and its result could not be stored." + again;
      return out;
    case refusal_kind::store_failed:
    case refusal_kind::overloaded:
      out.next = next_step::same_key;
      out.text = "The store of idempotency keys can't be reached. Nothing was run." + again;
      return out;
    case refusal_kind::invalid_request:
      break;
  }
  out.text = "The call was not run: " + why.detail;
  return out;
}

refused_call key_missing(std::string_view location) {
  refused_call out;
  out.outcome = "key-missing";
  out.next = next_step::new_key;
  out.text = "This tool must be called with an idempotency key. Nothing was run. ";
  out.text += "Make a new key (a UUID) and send it in " + std::string(location) +
              "; for a repeat of this call, send the same.";
  return out;
}

refused_call scope_missing(const std::string& why) {
  refused_call out;
  out.outcome = "scope-missing";
  out.text = "Nothing was run. " + why;
  return out;
}

refused_call key_malformed(std::string_view fault) {
  refused_call out;
  out.outcome = "key-malformed";
  out.next = next_step::new_key;
  out.text = "Nothing was run: " + std::string(fault) + '.';
  return out;
}

std::string result_of_refusal(const refused_call& refused, bool has_result_type) {
  std::string out =
      R"({"content":[{"type":"text","text":)" + json_string(refused.text) + R"(}],"isError":true,)";
  if (has_result_type) out += R"("resultType":"complete",)";
  return out + R"("_meta":)" + marks_of(refused) + '}';
}

std::string error_of_refusal(const refused_call& refused, std::string_view more_data) {
  const auto marks = marks_of(refused);
  return R"({"code":-32000,"message":)" + json_string(refused.text) + R"(,"data":)" +
         (more_data.empty() ? marks : with_first(marks, more_data)) + '}';
}

}  // namespace onceguard::mcp
