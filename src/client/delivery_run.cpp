#include "client/delivery_run.hpp"

#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "base/stoppable_wait.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

/// From 0 to 1, without 1.
double random_part() {
  std::array<unsigned char, 4> bytes{};
  base::random_bytes(bytes);
  std::uint32_t value = 0;
  for (const auto byte : bytes) value = value << 8 | byte;
  return static_cast<double>(value) / 4'294'967'296.0;
}

}  // namespace

milliseconds delivery_run::elapsed() const {
  return std::chrono::duration_cast<milliseconds>(base::boot_now() - begin_);
}

milliseconds delivery_run::timeout() const {
  const auto rest = params_.budget - elapsed();
  return std::max(std::min(params_.attempt_timeout, rest), milliseconds(1));
}

retry_decision delivery_run::after(attempt made) {
  out_.last = std::move(made);
  state_.attempts = ++out_.attempts;
  state_.elapsed = elapsed();
  state_.wall_ms = base::system_clock().wall_ms();
  state_.random = random_part();
  const auto next = decide_retry(params_, out_.last, state_);
  state_.in_doubt = state_.in_doubt || (!state_.safe && may_have_effect(out_.last));
  const bool known = next.end == ending::success || next.end == ending::done;
  out_.in_doubt = state_.in_doubt && !known;
  out_.end = next.end;
  out_.why = next.why;
  if (observer_) observer_(out_.attempts, out_.last, next);
  return next;
}

std::string key_field(const std::string& key) {
  std::string out = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

result<delivery> send(transport& transport, const request& sent, const retry_params& params,
                      const attempt_observer& observer, std::stop_token stop) {
  if (auto checked = check(sent); !checked) return std::move(checked).error();
  if (auto checked = check(params); !checked) return std::move(checked).error();
  delivery_run run(sent, params, observer);
  for (;;) {
    if (stop.stop_requested()) break;
    const auto next = run.after(transport.send(sent, run.timeout(), stop));
    if (next.end != ending::none) return std::move(run).result();
    if (!base::wait_unless(stop, next.wait)) break;
  }
  run.cancel();
  return std::move(run).result();
}

}  // namespace v1
}  // namespace onceguard::client
