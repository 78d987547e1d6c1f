// `outbox list`, `outbox retry` and `outbox drop`: the dead rows of [[relay]].
#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "cli/change_log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/messages/dead_row_acts.hpp"
#include "cli/messages/stop_signals.hpp"
#include "cli/store_work.hpp"
#include "core/kept_key.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::messages {
namespace {

struct outbox_request {
  std::string relay;
  std::string id;
  std::size_t row = 0;  // 0: whichever
  std::string why;
  std::string reason;
  std::size_t limit = 1'000;
  bool all = false;
  bool yes = false;
  bool dry = false;
  bool json = false;

  [[nodiscard]] bool chooses() const { return all || names_one() || !why.empty(); }
  /// An id can be that of several rows, and then only `yes` changes them.
  [[nodiscard]] bool names_one() const { return !id.empty() || row != 0; }
  [[nodiscard]] bool changes() const { return !dry && (yes || names_one()); }
  [[nodiscard]] bool fits(const relay::dead_row& one) const {
    const bool named = id.empty() || one.message_id == id || core::kept_key(one.message_id) == id;
    return named && one.reason.find(why) != one.reason.npos;
  }
};

result<std::vector<relay::dead_row>> read_rows(relay::dead_rows& outbox,
                                               const outbox_request& request) {
  if (request.row != 0) {
    auto found = outbox.find(static_cast<std::int64_t>(request.row));
    if (!found) return found.error();
    std::vector<relay::dead_row> out;
    if (*found) out.push_back(**std::move(found));
    return out;
  }
  // Of an id that several rows have, one alone would be taken for the only one.
  constexpr std::size_t least = 2;
  // The table does not know what the logs call a message.
  const bool kept_form = core::pepper_in_use() != nullptr && core::is_kept_form(request.id);
  if (!request.id.empty() && !kept_form)
    return outbox.of_message(request.id, std::max(request.limit, least));
  return outbox.list(request.limit);
}

/// What a command does with the rows of one outbox that it chose. Returns the exit code.
using rows_work = std::function<int(const relay::relay_params&, relay::dead_rows&,
                                    const std::vector<relay::dead_row>&)>;

std::string row_line(const std::string& relay_name, const relay::dead_row& one) {
  const auto since = one.dead_since == 0 ? "-" : time_text(one.dead_since / 1'000);
  auto out = since + "  " + plain_text(relay_name) + "  row " + std::to_string(one.number) + "  " +
             plain_text(one.message_id) + "  " +
             (one.order_key.empty() ? "-" : plain_text(one.order_key)) + "  " +
             std::to_string(one.payload_size) + " bytes, refused " + std::to_string(one.failures) +
             " times";
  if (!one.reason.empty()) out += "  (" + plain_text(one.reason) + ")";
  return out;
}

std::string row_json_line(const std::string& relay_name, const relay::dead_row& one) {
  nlohmann::ordered_json out{{"relay", relay_name}, {"row", one.number}};
  out["message_id"] = one.message_id;
  if (!one.order_key.empty()) out["order_key"] = one.order_key;
  out["failures"] = one.failures;
  if (!one.reason.empty()) out["reason"] = one.reason;
  if (one.dead_since != 0) out["dead_since"] = time_text(one.dead_since / 1'000);
  out["payload_size"] = one.payload_size;
  return json_line(out);
}

/// The relays that were chosen; empty, with a message on standard error: there are none.
std::vector<const relay::relay_params*> relays_of(const config::settings& settings,
                                                  const outbox_request& request, bool one_only) {
  std::vector<const relay::relay_params*> out;
  for (const auto& each : settings.relays) {
    if (request.relay.empty() || each.name == request.relay) out.push_back(&each);
  }
  if (settings.relays.empty()) {
    std::cerr << "onceguard: the configuration has no [[relay]]: whose outbox?\n";
  } else if (out.empty()) {
    std::cerr << "onceguard: the configuration has no [[relay]] with the name " << request.relay
              << "\n";
  } else if (one_only && out.size() > 1) {
    std::cerr << "onceguard: the configuration has several relays; choose one with --relay\n";
    out.clear();
  }
  return out;
}

/// Returns the worst exit code; exit_not_found: no row was chosen.
int work_on_rows(const std::vector<const relay::relay_params*>& relays,
                 const outbox_request& request, const rows_work& work) {
  int out = exit_not_found;
  for (const auto* params : relays) {
    auto outbox = relay::dead_rows::open(*params);
    if (!outbox) return complain(outbox.error());
    auto read = read_rows(*outbox, request);
    if (!read) return complain(read.error());
    if (read->size() >= request.limit) {
      std::cerr << "onceguard: looked at the first " << request.limit
                << "; there may be more: --limit\n";
    }
    std::erase_if(*read, [&](const auto& one) { return !request.fits(one); });
    if (read->empty()) continue;
    const int code = work(*params, *outbox, *read);
    if (out == exit_not_found || code != exit_ok) out = code;
  }
  return out;
}

int run_list(const given_flags& given, const outbox_request& request) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto relays = relays_of(*settings, request, false);
  if (relays.empty()) return exit_usage;
  const int code = work_on_rows(relays, request, [&](const auto& params, auto&, const auto& rows) {
    for (const auto& one : rows) {
      std::cout << (request.json ? row_json_line(params.name, one) : row_line(params.name, one))
                << "\n";
    }
    return exit_ok;
  });
  return code == exit_not_found ? exit_ok : code;
}

int show_rows(const std::string& name, const std::vector<relay::dead_row>& rows) {
  for (const auto& one : rows) std::cout << row_line(name, one) << "\n";
  std::cout << rows.size() << " rows; nothing was changed: --yes changes them\n";
  return exit_ok;
}

/// The id was meant to name one.
int ask_which(const std::string& name, const std::vector<relay::dead_row>& rows) {
  std::cerr << "onceguard: " << rows.size() << " dead rows have the id "
            << plain_text(rows.front().message_id)
            << "; nothing was changed: choose one with --row, or change them all with --yes:\n";
  for (const auto& one : rows) std::cerr << "  " << row_line(name, one) << "\n";
  return exit_usage;
}

int change_rows(const relay::relay_params& params, relay::dead_rows& outbox,
                const std::vector<relay::dead_row>& rows, bool retries, change_log& changes) {
  std::size_t done = 0;
  std::size_t begun = 0;
  for (const auto& one : rows) {
    if (stop_signals::signal() != nullptr) break;
    ++begun;
    const auto end = change_row(outbox, params.name, one, retries, changes.log(), changes.author());
    if (end.outcome == "done") ++done;
    std::cout << plain_text(one.message_id) << ": "
              << (end.outcome == "done" ? (retries ? "it waits for the relay" : "dropped")
                                        : "it stays: " + end.detail)
              << "\n";
  }
  if (rows.size() > 1) std::cout << done << " of " << rows.size() << " rows\n";
  if (begun < rows.size()) {
    std::cerr << "onceguard: " << stop_signals::signal() << " after " << begun << " of "
              << rows.size() << " rows; the others are as they were\n";
  }
  return done == rows.size() ? exit_ok : exit_failed;
}

int run_change(const given_flags& given, const outbox_request& request, bool retries) {
  if (!request.chooses()) return end_with(exit_usage, "ID is missing, or --row, --why or --all");
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto relays = relays_of(*settings, request, request.changes());
  if (relays.empty()) return exit_usage;
  const stop_signals stop;
  const auto changes =
      request.changes()
          ? change_log::open(*settings, retries ? "outbox retry" : "outbox drop", request.reason)
          : nullptr;
  if (request.changes() && !changes) return exit_failed;
  const int code =
      work_on_rows(relays, request, [&](const auto& params, auto& outbox, const auto& rows) {
        if (!changes) return show_rows(params.name, rows);
        if (rows.size() > 1 && !request.yes) return ask_which(params.name, rows);
        return change_rows(params, outbox, rows, retries, *changes);
      });
  if (code == exit_not_found) std::cerr << "onceguard: no such row is dead\n";
  return code;
}

void add_choice(const command& added, outbox_request& request) {
  added.add({{"--relay", &request.relay, "Of this [[relay]], where the configuration has several",
              typed("NAME")},
             {"--why", &request.why, "Only those whose reason has this part", typed("TEXT")},
             {"--limit", &request.limit, "Look at so many at most", between(1, 100'000)}});
}

void add_change(const command& added, bool retries) {
  const auto request = std::make_shared<outbox_request>();
  added.add({{"ID", &request->id, "The id of a message", typed("")},
             {"--row", &request->row, "The row of this number, as the list has it",
              between(1, INT64_MAX)}});
  add_choice(added, *request);
  added.add({{"--all", &request->all, "All dead rows of the outbox"},
             reason_argument(request->reason),
             {"--yes", &request->yes, "Change all that the filter chooses; without it, only show"},
             {"--dry-run", &request->dry, "Only show, also with ID or --row", not_with("--yes")}});
  const auto given = add_store_flags(added, {"audit-log"});
  added.runs([=] { return run_change(*given, *request, retries); });
}

}  // namespace

void add_outbox_list_command(const command& added) {
  const auto request = std::make_shared<outbox_request>();
  add_choice(added, *request);
  added.add({{"--json", &request->json, "One JSON object per line"}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_list(*given, *request); });
}

void add_outbox_retry_command(const command& added) { add_change(added, true); }

void add_outbox_drop_command(const command& added) { add_change(added, false); }

}  // namespace onceguard::cli::messages
