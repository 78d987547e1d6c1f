#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/keys/find_records.hpp"
#include "cli/keys/record_source.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/keys/resolve_selection.hpp"
#include "cli/store_work.hpp"
#include "store/resolve.hpp"

namespace onceguard::cli::keys {
namespace {

using boost::asio::awaitable;

struct release_request {
  selection_flags selection;
  bool force = false;
};

/// The holder, or another operator, may complete it while this command waits for the store.
bool keeps_completed(const record_view& seen) { return seen.state != observed_state::completed; }

awaitable<int> release_selection(record_access& records, const release_request& request,
                                 change_log* changes, milliseconds timeout) {
  const auto make = [&request](const record_view& seen) {
    auto change = resolution_of_seen(seen);
    change.force = request.force;
    change.keep_completed = keeps_completed(seen);
    return change;
  };
  co_return co_await resolve_selection(records, request.selection, make, changes, timeout);
}

awaitable<int> release_record(record_access& records, const release_request& request,
                              change_log& changes, milliseconds timeout) {
  auto found = co_await find_one(records, request.selection.choice, false, timeout);
  if (!found.any()) co_return found.exit_code;
  if (found.unreadable && !request.force) co_return refuse_unreadable(*found.unreadable);
  auto change = found.record ? resolution_of_seen(*found.record) : resolution();
  if (found.unreadable) change.id = found.unreadable->id;
  bind_to_seen(request.selection, change);
  change.about = found.about;
  change.force = request.force;
  change.keep_completed = found.record && keeps_completed(*found.record);
  co_return co_await resolve_record(records, std::move(found), std::move(change), changes, timeout);
}

int run_keys_release(const record_source& source, const release_request& request) {
  const auto& chosen = request.selection;
  if (!well_chosen(chosen)) return exit_usage;
  return change_records(
      source, {"keys release", chosen.reason, chosen.dry()},
      [&](record_access& records, const config::settings& settings, change_log* changes) {
        const auto timeout = settings.store.timeout;
        return chosen.several() ? release_selection(records, request, changes, timeout)
                                : release_record(records, request, *changes, timeout);
      });
}

}  // namespace

void add_keys_release_command(const command& added) {
  const auto request = std::make_shared<release_request>();
  add_selection_flags(added, request->selection);
  added.add({{"--force", &request->force,
              "Also while the lease runs, the upstream may still be at work, or the record can't "
              "be read"}});
  const auto source = add_record_source(added, {"audit-log"});
  added.runs([=] { return run_keys_release(*source, *request); });
}

}  // namespace onceguard::cli::keys
