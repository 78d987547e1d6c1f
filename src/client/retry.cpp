// The retry policy.
#include <algorithm>
#include <array>

#include <onceguard/client.hpp>

#include "base/for_ever.hpp"
#include "client/answer_fields.hpp"
#include "client/attempt_effect.hpp"
#include "client/delivery_run.hpp"
#include "client/retry_after.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

constexpr std::array<std::string_view, 6> idempotent_methods{"GET",    "HEAD",    "PUT",
                                                             "DELETE", "OPTIONS", "TRACE"};
constexpr std::array<std::string_view, 4> safe_methods{"GET", "HEAD", "OPTIONS", "TRACE"};

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

/// A request without a key is sent again only if nothing of it was sent.
bool may_repeat(const attempt& made, const retry_state& state) {
  return state.repeatable || (!made.answer && !made.sent);
}

/// Of a request that is not repeatable, and would otherwise be sent again.
std::string_view why_not_again(const attempt_effect& says) {
  return says.effect == attempt_effect::meaning::in_doubt
             ? "it may have taken effect, and has no key"
             : "it has no key";
}

}  // namespace

std::string_view name_of(ending end) noexcept {
  constexpr std::array<std::string_view, 7> names{"none",    "success",  "refused", "unknown",
                                                  "gave-up", "canceled", "done"};
  return names[static_cast<std::size_t>(end)];
}

bool is_safe(const request& sent) noexcept {
  return std::ranges::count(safe_methods, sent.method) > 0;
}

bool is_repeatable(const request& sent) noexcept {
  return !sent.key.empty() || std::ranges::count(idempotent_methods, sent.method) > 0;
}

retry_decision decide_retry(const retry_params& params, const attempt& made,
                            const retry_state& state) {
  auto says = read_attempt(made);
  const bool harmless = state.safe && says.effect == attempt_effect::meaning::in_doubt;
  if (harmless) says.effect = attempt_effect::meaning::nothing;
  if (says.again && may_repeat(made, state)) {
    const auto after = made.answer ? field_of(*made.answer, "retry-after") : std::nullopt;
    const auto least = after ? retry_after(*after, state.wall_ms) : std::nullopt;
    return another(bounded(params), state, least.value_or(milliseconds(0)), says.why);
  }
  const auto end = ending_of(says.effect, state.in_doubt);
  if (says.again) return {end, {}, why_not_again(says)};
  const bool earlier = end == ending::unknown && says.effect == attempt_effect::meaning::nothing;
  return {end, {}, earlier ? "an earlier attempt may have taken effect" : says.why};
}

retry_params bounded(retry_params params) {
  for (auto* each :
       {&params.budget, &params.first_wait, &params.longest_wait, &params.attempt_timeout}) {
    *each = base::bounded(*each);
  }
  return params;
}

bool may_have_effect(const attempt& made) {
  return read_attempt(made).effect == attempt_effect::meaning::in_doubt;
}

}  // namespace v1
}  // namespace onceguard::client
