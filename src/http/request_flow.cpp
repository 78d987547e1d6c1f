#include "http/request_flow.hpp"

#include <stdexcept>
#include <string>

namespace onceguard::http {
namespace {

constexpr std::size_t way(step before, step_end end) noexcept {
  return static_cast<std::size_t>(before) * step_ends + static_cast<std::size_t>(end);
}

}  // namespace

std::string_view name_of(step one) noexcept {
  constexpr std::string_view names[steps] = {
      "admit",  "receive", "identify", "recall",    "find",    "claim",   "probe",         "run",
      "settle", "answer",  "refuse",   "challenge", "forward", "observe", "run_unguarded", "over"};
  return names[static_cast<std::size_t>(one)];
}

std::optional<step> step_after(step before, step_end end) noexcept {
  using enum step_end;
  switch (way(before, end)) {
    case way(step::admit, guarded):
      return step::receive;
    case way(step::receive, done):
      return step::identify;
    case way(step::identify, guarded):
      return step::recall;
    case way(step::identify, late):
      return step::find;
    case way(step::identify, challenged):
      return step::challenge;
    case way(step::recall, unknown):
      return step::claim;
    case way(step::claim, fenced):
      return step::probe;
    case way(step::claim, granted):
    case way(step::probe, unknown):
      return step::run;
    case way(step::run, done):
      return step::settle;
    case way(step::recall, known):
    case way(step::find, known):
    case way(step::claim, known):
    case way(step::probe, known):
    case way(step::settle, done):
    case way(step::run_unguarded, done):
      return step::answer;
    case way(step::identify, unguarded):
    case way(step::claim, unguarded):
      return step::run_unguarded;
    case way(step::admit, unguarded):
      return step::forward;
    case way(step::admit, observed):
      return step::observe;
    case way(step::admit, refused):
    case way(step::receive, refused):
    case way(step::identify, refused):
    case way(step::find, unknown):
      return step::refuse;
    case way(step::receive, gone):
    case way(step::answer, done):
    case way(step::refuse, done):
    case way(step::challenge, done):
    case way(step::forward, done):
    case way(step::observe, done):
      return step::over;
    default:
      return std::nullopt;
  }
}

void flow::go_on(step_end end) {
  const auto next = step_after(step_, end);
  if (!next) throw std::logic_error("onceguard: no step follows " + std::string(name_of(step_)));
  step_ = *next;
}

}  // namespace onceguard::http
