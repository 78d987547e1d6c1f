#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/keys/filter_flags.hpp"
#include "cli/keys/find_records.hpp"
#include "cli/keys/record_source.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli::keys {
namespace {

using boost::asio::awaitable;

struct list_request {
  filter_flags filter;
  std::size_t limit = 0;  // 0: all
  bool json = false;
};

awaitable<int> list_records(record_access& records, const list_request& request,
                            milliseconds timeout) {
  constexpr std::size_t page_size = 200;
  const auto filter = request.filter.filter();
  std::string cursor;
  std::size_t shown = 0;
  do {
    auto page = co_await list_filtered(records, filter, cursor, page_size, timeout);
    if (!page) co_return complain(page.error());
    // Unreadable records are always listed: any filter might apply to them.
    for (const auto& seen : page->unreadable) {
      if (request.limit != 0 && shown == request.limit) co_return exit_ok;
      ++shown;
      std::cout << (request.json ? json_line(record_json(seen)) : record_line(seen)) << "\n";
    }
    for (const auto& seen : page->records) {
      if (request.limit != 0 && shown == request.limit) co_return exit_ok;
      ++shown;
      std::cout << (request.json ? json_line(record_json(seen, false)) : record_line(seen)) << "\n";
    }
    cursor = page->cursor;
  } while (!cursor.empty() && std::cout.good());
  co_return exit_ok;
}

int run_keys_list(const record_source& source, const list_request& request) {
  return with_records(source, [&](record_access& records, const config::settings& settings) {
    return list_records(records, request, settings.store.timeout);
  });
}

}  // namespace

void add_keys_list_command(const command& added) {
  const auto request = std::make_shared<list_request>();
  add_filter_flags(added, request->filter, "--reason,--why");
  added.add({{"--key", &request->filter.key, "Only records of this key",
              typed("KEY", filter_check("key"))},
             {"--scope", &request->filter.scope, "Only of this scope: its digest or the beginning",
              typed("DIGEST", filter_check("scope"))},
             {"--limit", &request->limit, "At most so many; 0: all"},
             {"--json", &request->json, "One JSON object per line"}});
  const auto source = add_record_source(added);
  added.runs([=] { return run_keys_list(*source, *request); });
}

}  // namespace onceguard::cli::keys
