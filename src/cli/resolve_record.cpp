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

std::string state_of(const found_record& before) {
  return before.record ? std::string(name_of(before.record->state)) : "unreadable";
}

audited_change change_of(const found_record& before, const resolution& request) {
  audited_change out;
  out.action = request.completed ? "complete" : "release";
  out.record = request.id;
  const auto& about = before.record ? before.record->stored.about : before.about;
  if (about) out.key = about->key;
  out.former = state_of(before);
  out.wanted = name_of(request.completed ? observed_state::completed : observed_state::released);
  if (request.force) out.about = "by force";
  return out;
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
  }
  return exit_failed;
}

}  // namespace

awaitable<resolve_end> resolve_one(store& records, const found_record& before, resolution request,
                                   change_log& changes, milliseconds timeout,
                                   milliseconds in_doubt_max) {
  const auto change = change_of(before, request);
  const auto& author = changes.author();
  resolve_end out;
  if (const auto line = changes.log().intend(author, change); !line) {
    std::cerr << "onceguard: " << line.error().detail << "; nothing was changed\n";
    out.exit_code = exit_failed;
    co_return out;
  }
  const auto report_wait = [&] {
    std::cerr << "onceguard: the store takes longer than " << config::duration_text(timeout)
              << "; waiting for up to " << config::duration_text(in_doubt_max)
              << " to see whether the change was carried out …\n";
  };
  resolve_times times;
  times.timeout = timeout;
  times.in_doubt_max = in_doubt_max;
  const auto resolved =
      co_await resolve_surely(records, before.record, request, times, report_wait);
  if (!resolved) {
    out.exit_code = complain_of_change(resolved.error(), request.completed);
  } else if (resolved->outcome != resolve_outcome::done) {
    out.exit_code = complain_of_refusal(*resolved, request.completed);
  } else {
    out.forgets_answer = resolved->forgets_answer;
  }
  const auto line = changes.log().conclude(author, change, std::string(outcome_text(resolved)));
  if (!line) {
    std::cerr << "onceguard: " << line.error().detail
              << "; the record was: " << outcome_text(resolved) << "\n";
    out.exit_code = exit_failed;
  }
  co_return out;
}

awaitable<void> wait_for_caches() {
  std::cerr << "waiting " << config::duration_text(stale_after)
            << ", until no gateway can answer as before from its memory …\n";
  co_await outlast_caches();
}

awaitable<int> resolve_record(store& records, found_record before, resolution request,
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

}  // namespace onceguard::cli
