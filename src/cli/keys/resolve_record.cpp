#include "cli/keys/resolve_record.hpp"

#include <iostream>

#include "audit/audited_resolve.hpp"
#include "cli/command.hpp"
#include "cli/store_work.hpp"
#include "config/table/parsers.hpp"
#include "store/staleness.hpp"

namespace onceguard::cli::keys {

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

/// Why the record was not changed.
int complain_of_refusal(const resolve_decision& refused, bool completes) {
  switch (refused.outcome) {
    case resolve_outcome::done:
      break;
    case resolve_outcome::not_found:
      std::cerr << "onceguard: the record is gone\n";
      return exit_not_found;
    case resolve_outcome::running:
      std::cerr << "onceguard: it may still be running, for up to "
                << config::duration_text(refused.retry_after)
                << "; try again then, or use --force if you know that it is not\n";
      break;
    case resolve_outcome::already_completed:
      std::cerr << (completes
                        ? "onceguard: it is completed already, and stays as it is: an answer that "
                          "was kept is never replaced; one that is missing takes --status, "
                          "--header or --body\n"
                        : "onceguard: it was completed just now, by its holder or by another "
                          "operator, and stays as it is; look at it with `keys show`\n");
      break;
    case resolve_outcome::changed:
      std::cerr << "onceguard: it has changed since it was seen (another lease, or its holder came "
                   "back to this one), so nothing was changed; look at it again with `keys show`\n";
      break;
  }
  return exit_failed;
}

}  // namespace

awaitable<resolve_end> resolve_one(record_access& records, const found_record& before,
                                   resolution request, change_log& changes, milliseconds timeout,
                                   milliseconds in_doubt_max) {
  const auto report_wait = [&] {
    std::cerr << "onceguard: the store takes longer than " << config::duration_text(timeout)
              << "; waiting for up to " << config::duration_text(in_doubt_max)
              << " to see whether the change was carried out …\n";
  };
  resolve_times times;
  times.timeout = timeout;
  times.in_doubt_max = in_doubt_max;
  const bool completes = request.completed;
  const audit_context audit{changes.log(), changes.author(), completes ? "complete" : "release"};
  const auto end = co_await resolve_audited(records, before.record, std::move(request), audit,
                                            times, report_wait);
  resolve_end out;
  if (!end.resolved) {
    out.exit_code = complain_of_change(end.resolved.error(), completes);
  } else if (end.resolved->outcome != resolve_outcome::done) {
    out.exit_code = complain_of_refusal(*end.resolved, completes);
  } else {
    out.forgets_answer = end.resolved->forgets_answer;
  }
  if (end.unwritten) {
    std::cerr << "onceguard: " << end.unwritten->detail
              << "; the record was: " << outcome_text(end.resolved) << "\n";
    out.exit_code = exit_failed;
  }
  co_return out;
}

awaitable<void> wait_for_caches() {
  std::cerr << "waiting " << config::duration_text(stale_after)
            << ", until no gateway can answer as before from its memory …\n";
  co_await outlast_caches();
}

awaitable<int> resolve_record(record_access& records, found_record before, resolution request,
                              change_log& changes, milliseconds timeout,
                              milliseconds in_doubt_max) {
  const bool completes = request.completed;
  const auto end =
      co_await resolve_one(records, before, std::move(request), changes, timeout, in_doubt_max);
  if (end.forgets_answer) co_await wait_for_caches();
  if (end.exit_code != exit_ok) co_return end.exit_code;
  std::cout << (completes ? "completed\n"
                          : "released: the next request with this key runs the operation again\n");
  co_return exit_ok;
}

}  // namespace onceguard::cli::keys
