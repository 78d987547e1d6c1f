#include "engine/effect_report.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

constexpr milliseconds probe_pause{1'000};

}  // namespace

std::string_view name_of(effect_status status) noexcept {
  switch (status) {
    case effect_status::done:
      return "done";
    case effect_status::not_done:
      return "not-done";
    case effect_status::unknown:
      break;
  }
  return "unknown";
}

std::optional<settle_terms> terms_after(const effect_report& report, milliseconds retention) {
  settle_terms terms;
  terms.retention = retention;
  switch (report.status) {
    case effect_status::done:
      terms.kind = settle_kind::complete;
      terms.answer = report.answer;
      terms.kept = report.answer ? answer_kept::full : answer_kept::none;
      return terms;
    case effect_status::not_done:
      return std::nullopt;
    case effect_status::unknown:
      break;
  }
  terms.kind = settle_kind::abandon;
  terms.why = unknown_reason::probe_inconclusive;
  terms.probe_pause = probe_pause;
  return terms;
}

}  // namespace v1
}  // namespace onceguard
