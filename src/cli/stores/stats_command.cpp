#include <iomanip>
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/keys/record_source.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli::stores {
namespace {

using boost::asio::awaitable;

void print(const counts& found, bool as_json) {
  nlohmann::ordered_json object;
  std::uint64_t total = 0;
  for (std::size_t i = 1; i <= observed_states; ++i) {
    const auto name = name_of(static_cast<observed_state>(i));
    object[std::string(name)] = found.by_state[i];
    total += found.by_state[i];
  }
  object["unreadable"] = found.unreadable;
  object["total"] = total + found.unreadable;
  if (as_json) {
    std::cout << json_line(object) << "\n";
    return;
  }
  for (const auto& [name, number] : object.items()) {
    std::cout << std::left << std::setw(12) << name << std::right << std::setw(12)
              << number.get<std::uint64_t>() << "\n";
  }
}

awaitable<int> show_counts(record_access& records, bool as_json, milliseconds timeout) {
  counts all;
  do {
    const auto piece = co_await records.count(all.cursor, timeout);
    if (!piece) co_return complain(piece.error());
    for (std::size_t i = 0; i < all.by_state.size(); ++i) all.by_state[i] += piece->by_state[i];
    all.unreadable += piece->unreadable;
    all.cursor = piece->cursor;
  } while (!all.cursor.empty());
  print(all, as_json);
  co_return exit_ok;
}

int run_stats(const keys::record_source& source, bool as_json) {
  return keys::with_records(source, [&](record_access& records, const config::settings& settings) {
    return show_counts(records, as_json, settings.store.timeout);
  });
}

}  // namespace

void add_stats_command(const command& added) {
  const auto as_json = std::make_shared<bool>(false);
  added.add({{"--json", as_json.get(), "As one JSON object"}});
  const auto source = keys::add_record_source(added);
  added.runs([=] { return run_stats(*source, *as_json); });
}

}  // namespace onceguard::cli::stores
