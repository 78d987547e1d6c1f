// The retry policy.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include <onceguard/client.hpp>

#include "client/answer_fields.hpp"
#include "client/retry_after.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

constexpr std::array<std::string_view, 6> idempotent_methods{"GET",    "HEAD",    "PUT",
                                                             "DELETE", "OPTIONS", "TRACE"};

/// What an answer that is no success says about another attempt.
struct advice {
  bool again = false;
  bool unknown = false;  ///< the answer says that the outcome is not known
  std::string_view why;
};

bool is_problem(const answer& got) {
  const auto type = field_of(got, "content-type").value_or("");
  return base::iequals(base::trim(type.substr(0, type.find(';'))), "application/problem+json");
}

/// 307 and 308 ask for the same request at another place: here it was not carried out.
bool is_success(std::uint16_t status) noexcept {
  return status >= 200 && status < 400 && status != 307 && status != 308;
}

/// 409 with a time is how servers of the draft say that the first attempt still runs.
bool may_pass(const answer& got) {
  const auto status = got.status;
  if (status == 409) return field_of(got, "retry-after").has_value();
  if (status == 408 || status == 425 || status == 429) return true;
  return status >= 500 && status < 600 && status != 501 && status != 505;
}

advice advice_of(const answer& got) {
  const auto problem =
      is_problem(got) ? nlohmann::json::parse(got.body, nullptr, false) : nlohmann::json();
  advice out;
  if (problem.is_object() && problem.contains("type") && problem["type"].is_string()) {
    out.unknown = problem["type"].get_ref<const std::string&>().ends_with("outcome-unknown");
  }
  const auto field = field_of(got, "onceguard-retry").value_or("");
  if (field == "same-key") {
    out.again = true;
    out.why = "Onceguard-Retry: same-key";
  } else if (field == "new-key") {
    out.why = "Onceguard-Retry: new-key";
  } else if (field == "no") {
    out.why = "Onceguard-Retry: no";
  } else if (problem.is_object() && problem.contains("retryable") &&
             problem["retryable"].is_boolean()) {
    out.again = problem["retryable"].get<bool>();
    out.why = out.again ? "the problem is retryable" : "the problem is not retryable";
  } else {
    out.again = may_pass(got);
    out.why = out.again ? "a status that passes" : "the status is final";
  }
  return out;
}

/// Another attempt, if there is one left and time for it.
retry_decision another(const retry_params& params, const retry_state& state, milliseconds least,
                       std::string_view why) {
  if (state.attempts >= params.attempts) return {ending::gave_up, {}, "the attempts are used up"};
  const auto rest = params.budget - state.elapsed;
  if (least >= rest) return {ending::gave_up, {}, "the budget is used up"};
  auto bound = std::min(params.first_wait, params.longest_wait);
  for (std::size_t i = 1; i < state.attempts && bound < params.longest_wait; ++i) {
    bound = std::min(bound * 2, params.longest_wait);
  }
  const milliseconds jitter(
      static_cast<std::int64_t>(static_cast<double>(bound.count()) * state.random));
  // A time that the server named is kept, if need be without the jitter.
  if (least + jitter < rest) return {ending::none, least + jitter, why};
  if (least.count() > 0) return {ending::none, least, why};
  return {ending::gave_up, {}, "the budget is used up"};
}

retry_decision after_fault(const retry_params& params, const attempt& made,
                           const retry_state& state) {
  if (made.sent && !state.repeatable) {
    return {ending::unknown, {}, "it may have arrived, and has no key"};
  }
  if (made.permanent && made.sent) {
    return {ending::unknown, {}, "it may have taken effect, and its answer can't be taken"};
  }
  if (made.permanent) return {ending::refused, {}, "the fault lasts"};
  return another(params, state, {}, made.sent ? "no answer came" : "nothing was sent");
}

retry_decision after_answer(const retry_params& params, const answer& got,
                            const retry_state& state) {
  if (is_success(got.status)) return {ending::success, {}, "the answer is there"};
  const auto says = advice_of(got);
  if (!state.repeatable) {
    // What stands between client and service answers these when the request may have arrived.
    const bool passed_on = got.status == 500 || got.status == 502 || got.status == 504;
    if (passed_on) return {ending::unknown, {}, "it may have taken effect, and has no key"};
    return {ending::refused, {}, says.again ? "it has no key" : says.why};
  }
  if (!says.again) return {says.unknown ? ending::unknown : ending::refused, {}, says.why};
  const auto after = field_of(got, "retry-after");
  const auto least = after ? retry_after(*after, state.wall_ms) : std::nullopt;
  return another(params, state, least.value_or(milliseconds(0)), says.why);
}

}  // namespace

std::string_view name_of(ending end) noexcept {
  constexpr std::array<std::string_view, 6> names{"none",    "success", "refused",
                                                  "unknown", "gave-up", "canceled"};
  return names[static_cast<std::size_t>(end)];
}

bool is_repeatable(const request& sent) noexcept {
  return !sent.key.empty() || std::ranges::count(idempotent_methods, sent.method) > 0;
}

retry_decision decide_retry(const retry_params& params, const attempt& made,
                            const retry_state& state) {
  return made.answer ? after_answer(params, *made.answer, state) : after_fault(params, made, state);
}

}  // namespace v1
}  // namespace onceguard::client
