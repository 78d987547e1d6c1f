#include <iostream>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli::stores {
namespace {

using boost::asio::awaitable;

awaitable<int> sweep_all(store& records, milliseconds timeout) {
  constexpr std::size_t batch = 500;  // small, so that a running gateway is not delayed
  // Each call may sweep only a part of the store. Stores have at most sixty parts.
  constexpr int calls_for_all = 61;
  std::size_t removed = 0;
  for (int in_vain = 0; in_vain < calls_for_all; ++in_vain) {
    const auto gone = co_await records.sweep(batch, timeout);
    if (!gone) co_return complain(gone.error());
    removed += *gone;
    if (*gone != 0) in_vain = 0;
  }
  std::cout << removed << " removed\n";
  co_return exit_ok;
}

int run_sweep(const given_flags& given) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  return with_store(*settings,
                    [&](store& records) { return sweep_all(records, settings->store.timeout); });
}

}  // namespace

void add_sweep_command(const command& added) {
  const auto given = add_store_flags(added);
  added.runs([=] { return run_sweep(*given); });
}

}  // namespace onceguard::cli::stores
