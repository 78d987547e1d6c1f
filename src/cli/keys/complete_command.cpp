#include <iostream>

#include <onceguard/http_message.hpp>

#include "base/ascii.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/keys/find_records.hpp"
#include "cli/keys/record_source.hpp"
#include "cli/keys/resolve_record.hpp"
#include "cli/keys/resolve_selection.hpp"
#include "cli/store_work.hpp"
#include "http/forwarded_fields.hpp"
#include "store/resolve.hpp"

namespace onceguard::cli::keys {
namespace {

using boost::asio::awaitable;

struct complete_request {
  selection_flags selection;
  std::size_t status = 0;  // 0: not given
  message_flags message;
  bool force = false;
};

/// Returns the name of a field that is made anew for each answer and never stored; empty if none.
std::string unstored_field(const answer& made) {
  for (const auto& [name, value] : made.headers) {
    if (http::is_hop_by_hop(name) || base::iequals(name, "date")) return name;
  }
  return {};
}

answer_ptr answer_of(const complete_request& request) {
  const bool given = request.status != 0 || !request.message.headers.empty() ||
                     !request.message.body.empty() || !request.message.body_file.empty();
  if (!given) return nullptr;
  auto made = std::make_shared<answer>();
  made->status = static_cast<std::uint16_t>(request.status == 0 ? 200 : request.status);
  made->headers = fields_of(request.message);
  made->body = body_of(request.message);
  return made;
}

resolution completion_of(const record_view* found, const complete_request& request,
                         const answer_ptr& made, const config::settings& settings) {
  auto change = found != nullptr ? resolution_of_seen(*found) : resolution();
  change.completed = true;
  change.answer = made;
  change.force = request.force;
  change.retention =
      config::retention_of(settings, found != nullptr ? found->stored.about->route : "");
  return change;
}

awaitable<int> complete_record(record_access& records, const complete_request& request,
                               answer_ptr made, const config::settings& settings,
                               change_log& changes) {
  const auto timeout = settings.store.timeout;
  auto found = co_await find_one(records, request.selection.choice, false, timeout);
  if (!found.any()) {
    if (found.exit_code == exit_not_found) {
      std::cerr
          << "onceguard: only a record can be completed; without one (never used, released or "
             "expired) the next request with the key runs\n";
    }
    co_return found.exit_code;
  }
  if (found.unreadable && !request.force) co_return refuse_unreadable(*found.unreadable);
  auto change = completion_of(found.record ? &*found.record : nullptr, request, made, settings);
  if (found.unreadable) change.id = found.unreadable->id;
  bind_to_seen(request.selection, change);
  change.about = found.about;
  co_return co_await resolve_record(records, std::move(found), std::move(change), changes, timeout);
}

awaitable<int> complete_selection(record_access& records, const complete_request& request,
                                  answer_ptr made, const config::settings& settings,
                                  change_log* changes) {
  const auto make = [&](const record_view& seen) {
    return completion_of(&seen, request, made, settings);
  };
  co_return co_await resolve_selection(records, request.selection, make, changes,
                                       settings.store.timeout);
}

int run_keys_complete(const record_source& source, const complete_request& request) {
  const auto& chosen = request.selection;
  if (!well_chosen(chosen)) return exit_usage;
  const auto made = answer_of(request);
  if (made) {
    if (const auto name = unstored_field(*made); !name.empty()) {
      std::cerr << "onceguard: " << name << " is made anew for each answer and can't be kept\n";
      return exit_usage;
    }
    if (http::has_no_body(made->status) && !made->body.empty()) {
      std::cerr << "onceguard: --body: an answer with the status " << made->status
                << " has none, so this one would never be sent\n";
      return exit_usage;
    }
  }
  return change_records(
      source, {"keys complete", chosen.reason, chosen.dry()},
      [&](record_access& records, const config::settings& settings, change_log* changes) {
        return chosen.several() ? complete_selection(records, request, made, settings, changes)
                                : complete_record(records, request, made, settings, *changes);
      });
}

}  // namespace

void add_keys_complete_command(const command& added) {
  const auto request = std::make_shared<complete_request>();
  add_selection_flags(added, request->selection);
  added.add({{"--status", &request->status, "The status of the answer [200]",
              between(200, 599, "STATUS")}});
  add_message_flags(added, request->message);
  added.add(
      {{"--force", &request->force, "Also while the lease runs, and if the record can't be read"}});
  const auto source = add_record_source(added, {"retention", "audit-log"});
  added.runs([=] { return run_keys_complete(*source, *request); });
}

}  // namespace onceguard::cli::keys
