#include "cli/resolve_record.hpp"

#include <iostream>
#include <optional>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"
#include "cli/command.hpp"
#include "cli/store_work.hpp"
#include "config/texts.hpp"
#include "store/staleness.hpp"

namespace onceguard::cli {

using boost::asio::awaitable;

namespace {

awaitable<void> pause(milliseconds length) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(length);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

/// Did the change take place? `now` is null if there is no record any more.
bool carried_out(const found_record& before, const record_view* now, bool completed) {
  if (completed) {
    return now != nullptr && now->state == observed_state::completed && now->stored.by_operator;
  }
  if (now == nullptr || now->state == observed_state::released) return true;
  // Another attempt has begun since: the key was free.
  return !before.record || now->stored.token > before.record->stored.token;
}

/// Reads the record until it shows the change; none: it did not within that time.
awaitable<std::optional<resolve_decision>> find_out(store& records, const found_record& before,
                                                    const resolution& request, milliseconds timeout,
                                                    milliseconds longest) {
  constexpr milliseconds step{200};
  std::cerr << "onceguard: the store takes longer than " << config::duration_text(timeout)
            << "; waiting for up to " << config::duration_text(longest)
            << " to see whether the change was carried out …\n";
  const auto until = base::boot_now() + longest;
  while (base::boot_now() < until) {
    const auto found = co_await records.find(request.id, timeout);
    if (found && carried_out(before, *found ? &**found : nullptr, request.completed)) {
      resolve_decision out;
      out.forgets_answer = !before.record || before.record->state == observed_state::completed;
      co_return out;
    }
    co_await pause(step);
  }
  co_return std::nullopt;
}

/// For an error of the store: says whether anything was changed, so far as that is known.
int complain_of_change(const error& why, bool completed) {
  if (why.effect == effect::none)
    return complain(error(why.code, why.detail + "; nothing was changed"));
  const bool releases = !completed;
  auto detail = why.detail + "; it is not known whether the key was " +
                (releases ? "released" : "completed") +
                ", and that may still happen. Look with `keys show` before you do anything else";
  if (releases)
    detail += ", and expect that the next request with this key runs the operation again";
  return complain(error(why.code, detail, why.effect));
}

}  // namespace

awaitable<int> resolve_record(store& records, found_record before, resolution request,
                              milliseconds timeout, milliseconds in_doubt_max) {
  const bool completes = request.completed;
  auto resolved = co_await records.resolve(request, timeout);
  if (!resolved && resolved.error().effect != effect::none) {
    const auto seen = co_await find_out(records, before, request, timeout, in_doubt_max);
    if (seen) resolved = *seen;
  }
  if (!resolved) co_return complain_of_change(resolved.error(), completes);
  switch (resolved->outcome) {
    case resolve_outcome::done:
      break;
    case resolve_outcome::not_found:
      std::cerr << "onceguard: the record is gone\n";
      co_return exit_not_found;
    case resolve_outcome::running:
      std::cerr << "onceguard: it may still be running, for up to "
                << config::duration_text(resolved->retry_after)
                << "; try again then, or use --force if you know that it is not\n";
      co_return exit_failed;
    case resolve_outcome::already_completed:
      std::cerr << (completes
                        ? "onceguard: it is completed already, and stays as it is: an answer that "
                          "was kept is never replaced; one that is missing takes --status, "
                          "--header or --body\n"
                        : "onceguard: it was completed just now, by its holder or by another "
                          "operator, and stays as it is; look at it with `keys show`\n");
      co_return exit_failed;
  }
  if (resolved->forgets_answer) {
    std::cerr << "waiting " << config::duration_text(stale_after)
              << ", until no gateway can answer as before from its memory …\n";
    co_await pause(stale_after);
  }
  std::cout << (completes ? "completed\n"
                          : "released: the next request with this key runs the operation again\n");
  co_return exit_ok;
}

}  // namespace onceguard::cli
