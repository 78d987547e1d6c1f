#include "store/resolve.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"
#include "store/staleness.hpp"

namespace onceguard {

using boost::asio::awaitable;

namespace {

awaitable<void> pause(milliseconds length) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(length);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

/// Did the change take place? `now` is null if there is no record any more.
bool carried_out(const std::optional<record_view>& before, const record_view* now, bool completed) {
  if (completed) {
    return now != nullptr && now->state == observed_state::completed && now->stored.by_operator;
  }
  if (now == nullptr || now->state == observed_state::released) return true;
  // Another attempt has begun since: the key was free.
  return !before || now->stored.token > before->stored.token;
}

}  // namespace

resolution resolution_of_seen(const record_view& seen) {
  resolution out;
  out.id = seen.id;
  out.token = seen.stored.token;
  out.revision = seen.revision;
  return out;
}

awaitable<result<resolve_decision>> resolve_surely(record_access& records,
                                                   std::optional<record_view> before,
                                                   resolution request, resolve_times times,
                                                   std::function<void()> report_wait) {
  constexpr milliseconds step{200};
  auto resolved = co_await records.resolve(request, times.timeout);
  if (resolved || resolved.error().effect == effect::none) co_return resolved;
  if (report_wait) report_wait();
  const auto until = base::boot_now() + times.in_doubt_max;
  while (base::boot_now() < until) {
    const auto found = co_await records.find(request.id, times.timeout);
    if (found && carried_out(before, *found ? &**found : nullptr, request.completed)) {
      resolve_decision out;
      out.forgets_answer = !before || before->state == observed_state::completed;
      co_return out;
    }
    co_await pause(step);
  }
  co_return resolved;
}

awaitable<void> outlast_caches() { return pause(stale_after); }

resolve_decision preview_resolution(const record_view& seen, const resolution& request) {
  instant now;
  now.lease = seen.stored.deadline_lease - seen.lease_left.count();
  now.wall = base::system_clock().wall_ms();
  return decide_resolution(&seen.stored, request, now, seen.revision);
}

}  // namespace onceguard
