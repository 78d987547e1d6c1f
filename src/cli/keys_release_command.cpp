
#include "cli/command.hpp"
#include "cli/find_records.hpp"
#include "cli/given_flags.hpp"
#include "cli/resolve_record.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli {
namespace {

using boost::asio::awaitable;

struct release_request {
  key_choice choice;
  bool force = false;
};

awaitable<int> release_record(store& records, const release_request& request,
                              milliseconds timeout) {
  auto found = co_await find_one(records, request.choice, false, timeout);
  if (!found.any()) co_return found.exit_code;
  if (found.unreadable && !request.force) co_return refuse_unreadable(*found.unreadable);
  resolution change;
  change.id = found.record ? found.record->id : found.unreadable->id;
  change.about = found.about;
  change.force = request.force;
  // The holder, or another operator, may complete it while this command waits for the store.
  change.keep_completed = found.record && found.record->state != observed_state::completed;
  co_return co_await resolve_record(records, std::move(found), std::move(change), timeout);
}

int run_keys_release(const given_flags& given, const release_request& request) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  return with_store(*settings, [&](store& records) {
    return release_record(records, request, settings->store.timeout);
  });
}

}  // namespace

void add_keys_release_command(command keys) {
  const auto added = keys.add_command(
      "release",
      "It did not happen: free the key; the next request with it runs the operation again");
  const auto request = std::make_shared<release_request>();
  add_key_choice(added, request->choice);
  added.add_flag(
      "--force", request->force,
      "Also while the lease runs, the upstream may still be at work, or the record can't "
      "be read");
  const auto given = add_store_flags(added);
  added.footer(
      "Whatever had happened happens again with the next request. To add an answer that was not\n"
      "kept, use `keys complete`.\n"
      "After the release of a completed record it returns when no gateway can serve the old\n"
      "answer from its memory any more: after 5 seconds.\n\n"
      "Example:\n"
      "  onceguard keys release order-4711 --store sqlite:onceguard.db");
  added.runs([=] { return run_keys_release(*given, *request); });
}

}  // namespace onceguard::cli
