#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/find_records.hpp"
#include "cli/given_flags.hpp"
#include "cli/record_filter.hpp"
#include "cli/record_text.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli {
namespace {

using boost::asio::awaitable;

struct list_request {
  filter_flags filter;
  std::size_t limit = 0;  // 0: all
  bool json = false;
};

awaitable<int> list_records(store& store, const list_request& request, milliseconds timeout) {
  constexpr std::size_t page_size = 200;
  const record_filter filter(request.filter);
  std::string cursor;
  std::size_t shown = 0;
  do {
    auto page = co_await store.list(filter.of_store(), cursor, page_size, timeout);
    if (!page) co_return complain(page.error());
    // Unreadable records are always listed: any filter might apply to them.
    for (const auto& seen : page->unreadable) {
      if (request.limit != 0 && shown == request.limit) co_return exit_ok;
      ++shown;
      std::cout << (request.json ? json_line(record_json(seen)) : record_line(seen)) << "\n";
    }
    for (const auto& seen : page->records) {
      if (!filter.fits(seen)) continue;
      if (request.limit != 0 && shown == request.limit) co_return exit_ok;
      ++shown;
      std::cout << (request.json ? json_line(record_json(seen, false)) : record_line(seen)) << "\n";
    }
    cursor = page->cursor;
  } while (!cursor.empty() && std::cout.good());
  co_return exit_ok;
}

int run_keys_list(const given_flags& given, const list_request& request) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  return with_store(*settings, [&](store& records) {
    return list_records(records, request, settings->store.timeout);
  });
}

}  // namespace

void add_keys_list_command(command keys) {
  const auto added = keys.add_command("list", "List records in the order of their first claim");
  const auto request = std::make_shared<list_request>();
  add_filter_flags(added, request->filter, "--reason,--why");
  added.add_option("--key", request->filter.key, "Only records of this key").type("KEY");
  added
      .add_option("--scope", request->filter.scope,
                  "Only of this scope: its digest or the beginning")
      .type("DIGEST")
      .check([](const std::string& text) {
        return is_scope_prefix(text) ? std::string() : "the digest is up to 64 digits 0-9 a-f";
      });
  added.add_number("--limit", request->limit, "At most so many; 0: all");
  added.add_flag("--json", request->json, "One JSON object per line");
  const auto given = add_store_flags(added);
  added.footer(
      "A line has state, time of the first claim, scope (its first 12 digits), method and path,\n"
      "key, and why an outcome is unknown. Records that can't be read come with every list, by "
      "their\nid, which `keys show`, `release` and `complete` take in the place of a key.\n\n"
      "Example:\n"
      "  onceguard keys list --attention --older 1h --store sqlite:onceguard.db");
  added.runs([=] { return run_keys_list(*given, *request); });
}

void add_keys_command(command app) {
  const auto keys = app.add_command("keys", "Look at records, and end what nobody else ends");
  keys.needs_command();
  keys.footer(
      "Example:\n"
      "  onceguard keys list --state unknown --store sqlite:onceguard.db");
  add_keys_list_command(keys);
  add_keys_show_command(keys);
  add_keys_release_command(keys);
  add_keys_complete_command(keys);
  add_keys_export_command(keys);
  add_keys_import_command(keys);
}

}  // namespace onceguard::cli
