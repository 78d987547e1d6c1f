#include "cli/resolve_record.hpp"

#include <iostream>

#include "cli/command.hpp"
#include "cli/store_work.hpp"
#include "config/texts.hpp"
#include "store/resolve.hpp"
#include "store/staleness.hpp"

namespace onceguard::cli {

using boost::asio::awaitable;

namespace {

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
  const auto report_wait = [&] {
    std::cerr << "onceguard: the store takes longer than " << config::duration_text(timeout)
              << "; waiting for up to " << config::duration_text(in_doubt_max)
              << " to see whether the change was carried out …\n";
  };
  resolve_times times;
  times.timeout = timeout;
  times.in_doubt_max = in_doubt_max;
  const auto resolved = co_await resolve_surely(records, std::move(before.record),
                                                std::move(request), times, report_wait);
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
    co_await outlast_caches();
  }
  std::cout << (completes ? "completed\n"
                          : "released: the next request with this key runs the operation again\n");
  co_return exit_ok;
}

}  // namespace onceguard::cli
