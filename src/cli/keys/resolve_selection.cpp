#include "cli/keys/resolve_selection.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string_view>

#include "base/number_in.hpp"
#include "cli/keys/find_records.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/store_work.hpp"
#include "store/sealed/sealed_answer.hpp"

namespace onceguard::cli::keys {

using boost::asio::awaitable;

namespace {

constexpr std::size_t page_size = 200;

/// What became of the chosen records.
struct selection_counts {
  std::size_t chosen = 0, resolved = 0;
  std::size_t unreadable = 0;  ///< left alone; without those whose key is missing
  bool forgets_answer = false;
  int failure = exit_ok;  ///< of the last record that was not resolved
};

awaitable<void> resolve_chosen(record_access& records, record_view seen,
                               const resolution_maker& make, change_log& changes,
                               milliseconds timeout, selection_counts& counts) {
  auto change = make(seen);
  found_record before;
  before.record = std::move(seen);
  const auto end = co_await resolve_one(records, before, std::move(change), changes, timeout);
  if (end.exit_code == exit_ok) ++counts.resolved;
  if (end.exit_code != exit_ok) counts.failure = end.exit_code;
  counts.forgets_answer = counts.forgets_answer || end.forgets_answer;
}

/// An error that every further record would meet, too.
bool ends_all(int code) noexcept { return code == exit_store; }

int print_sum(const selection_counts& counts, bool yes) {
  if (counts.unreadable != 0) {
    std::cerr << "onceguard: records that can't be read: " << counts.unreadable
              << "; they stay as they are, whatever the filter; name each by its id, with --force, "
                 "to change it\n";
  }
  if (counts.chosen == 0) {
    std::cerr << "onceguard: no record is chosen\n";
    return exit_not_found;
  }
  if (!yes) {
    std::cout << counts.chosen << " records; nothing was changed: --yes changes them\n";
    return exit_ok;
  }
  std::cout << counts.resolved << " of " << counts.chosen << " records were changed\n";
  return counts.failure;
}

}  // namespace

void add_selection_flags(const command& command, selection_flags& flags) {
  add_key_choice(command, flags.choice, key_needed::no);
  add_filter_flags(command, flags.filter, "--why");
  command.add(
      {reason_argument(flags.reason),
       {"--seen", &flags.seen, "Of KEY: only if its lease is still as `keys show` said (\"seen\")"},
       {"--yes", &flags.yes, "Change all that the filter chooses; without it, only show"}});
}

namespace {

struct seen_lease {
  onceguard::token token = 0;
  std::optional<std::int64_t> revision{};
};

/// The way back of seen_text().
std::optional<seen_lease> read_seen(std::string_view text) {
  const auto end = std::min(text.find('-'), text.size());
  const auto token = base::number_in<onceguard::token>(text.substr(0, end));
  if (!token || *token == 0) return std::nullopt;
  seen_lease out{*token};
  if (end == text.size()) return out;
  out.revision = base::number_in<std::int64_t>(text.substr(end + 1));
  return out.revision ? std::optional(out) : std::nullopt;
}

}  // namespace

void bind_to_seen(const selection_flags& flags, resolution& change) {
  const auto seen = read_seen(flags.seen);
  if (!seen) return;  // not given: well_chosen() has refused what can't be read
  change.token = seen->token;
  change.revision = seen->revision;
}

bool well_chosen(const selection_flags& flags) {
  if (!flags.seen.empty() && (flags.several() || !read_seen(flags.seen))) {
    std::cerr << "onceguard: --seen goes with KEY, and takes what `keys show` calls \"seen\"\n";
    return false;
  }
  if (flags.several() == flags.filter.any()) return true;
  std::cerr << (flags.several() ? "onceguard: KEY is missing, or a filter such as --route\n"
                                : "onceguard: either KEY or a filter such as --route, not both\n");
  return false;
}

awaitable<int> resolve_selection(record_access& records, const selection_flags& flags,
                                 const resolution_maker& make, change_log* changes,
                                 milliseconds timeout) {
  auto chosen = flags.filter;
  chosen.scope = flags.choice.scope;
  auto filter = chosen.filter();
  filter.limit_to_unknown();
  selection_counts counts;
  std::string cursor;
  do {
    auto page = co_await list_filtered(records, filter, cursor, page_size, timeout);
    if (!page) co_return complain(page.error());
    for (const auto& seen : page->unreadable) {
      if (!sealed::lacks_key(seen.why)) ++counts.unreadable;
      std::cout << record_line(seen) << "\n";
    }
    for (auto& seen : page->records) {
      if (seen.state == observed_state::released) continue;
      ++counts.chosen;
      std::cout << record_line(seen) << "\n";
      if (changes == nullptr) continue;
      co_await resolve_chosen(records, std::move(seen), make, *changes, timeout, counts);
      if (ends_all(counts.failure)) break;
    }
    cursor = ends_all(counts.failure) ? std::string() : page->cursor;
  } while (!cursor.empty());
  if (counts.forgets_answer) co_await wait_for_caches();
  co_return print_sum(counts, flags.yes);
}

}  // namespace onceguard::cli::keys
