#include "client/attempt_effect.hpp"

#include <array>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/ascii.hpp"
#include "base/json_reader.hpp"
#include "client/answer_fields.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

using meaning = attempt_effect::meaning;

// What Onceguard's own refusals say of the work, by the end of their type. Those that are not here
// are taken by their status and advice.
struct known_problem {
  std::string_view name;
  meaning effect;
};
constexpr std::array known_problems{
    known_problem{"answer-not-kept", meaning::not_kept},
    known_problem{"outcome-unknown", meaning::in_doubt},
    known_problem{"in-progress", meaning::in_doubt},
    known_problem{"record-unreadable", meaning::in_doubt},
    known_problem{"upstream-broken", meaning::in_doubt},
    known_problem{"upstream-timeout", meaning::in_doubt},
    known_problem{"store-unreachable", meaning::in_doubt},
    known_problem{"backing-off", meaning::nothing},
    known_problem{"upstream-unreachable", meaning::nothing},
    known_problem{"overloaded", meaning::nothing},
    known_problem{"quota-exceeded", meaning::nothing},
    known_problem{"loop-detected", meaning::nothing},
    known_problem{"request-timeout", meaning::nothing},
    known_problem{"bad-request", meaning::nothing},
};

/// What a problem document says (RFC 9457).
struct problem_document {
  std::string type;
  std::optional<bool> retryable;
};

problem_document problem_of(const answer& got) {
  problem_document out;
  const auto media = field_of(got, "content-type").value_or("");
  if (!base::iequals(base::trim(media.substr(0, media.find(';'))), "application/problem+json")) {
    return out;
  }
  const auto whole = nlohmann::json::parse(got.body, nullptr, false);
  out.type = base::text_in(whole, "type");
  out.retryable = base::member<bool>(whole, "retryable");
  return out;
}

/// That nothing happened, or all of it, is believed of whoever gives our advice with it.
const known_problem* known(const problem_document& problem, bool advised) {
  for (const auto& each : known_problems) {
    if (!problem.type.ends_with(each.name)) continue;
    return advised || each.effect == meaning::in_doubt ? &each : nullptr;
  }
  return nullptr;
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

/// Whether to send the same request again, and by which rule.
void read_advice(const answer& got, std::string_view advice, const problem_document& problem,
                 attempt_effect& out) {
  if (advice == "same-key") {
    out.again = true;
    out.why = "Onceguard-Retry: same-key";
  } else if (advice == "new-key") {
    out.why = "Onceguard-Retry: new-key";
  } else if (advice == "no") {
    out.why = "Onceguard-Retry: no";
  } else if (problem.retryable) {
    out.again = *problem.retryable;
    out.why = out.again ? "the problem is retryable" : "the problem is not retryable";
  } else {
    out.again = may_pass(got);
    out.why = out.again ? "a status that passes" : "the status is final";
  }
}

/// Of an answer that is no success and none of the known problems. A 5xx may follow the effect, or
/// come from what stands between and has sent the request on, which some also say with 408 and 501;
/// a status beyond counts as 500 (RFC 9110, 15). A 409 of a twin that runs, and one that a person
/// is to look at, are about an earlier attempt; so is the 422 of a key that is to be kept: what
/// differs is not the work.
meaning by_status(const answer& got, std::string_view advice) {
  const auto status = got.status;
  const bool of_key = status == 409 || status == 422;
  if (of_key && advice == "no") return meaning::in_doubt;
  if (status == 409 && advice != "new-key" && may_pass(got)) return meaning::in_doubt;
  if (status == 409 && advice == "same-key") return meaning::in_doubt;
  const bool may_follow = status == 408 || (status >= 500 && status != 505);
  return may_follow ? meaning::in_doubt : meaning::nothing;
}

attempt_effect read_fault(const attempt& made) {
  attempt_effect out;
  out.again = !made.permanent;
  out.effect = made.sent ? meaning::in_doubt : meaning::nothing;
  if (made.permanent) {
    out.why =
        made.sent ? "it may have taken effect, and its answer can't be taken" : "the fault lasts";
  } else {
    out.why = made.sent ? "no answer came" : "nothing was sent";
  }
  return out;
}

}  // namespace

attempt_effect read_attempt(const attempt& made) {
  if (!made.answer) return read_fault(made);
  const auto& got = *made.answer;
  if (is_success(got.status)) return {meaning::done, false, "the answer is there"};
  const auto problem = problem_of(got);
  attempt_effect out;
  const auto advice = field_of(got, "onceguard-retry").value_or("");
  read_advice(got, advice, problem, out);
  const auto* const ours = known(problem, !advice.empty());
  out.effect = ours != nullptr ? ours->effect : by_status(got, advice);
  if (out.effect == meaning::not_kept) {
    out.again = false;
    out.why = "it was done, and its answer was not kept";
  }
  return out;
}

ending ending_of(attempt_effect::meaning last, bool in_doubt) noexcept {
  switch (last) {
    case meaning::done:
      return ending::success;
    case meaning::not_kept:
      return ending::done;
    case meaning::nothing:
      return in_doubt ? ending::unknown : ending::refused;
    case meaning::in_doubt:
      break;
  }
  return ending::unknown;
}

}  // namespace v1
}  // namespace onceguard::client
