#include <iostream>
#include <memory>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"
#include "config/stores.hpp"

namespace onceguard::cli::keys {
namespace {

bool has_index(const store_kind& kind) { return kind.index_keys != nullptr; }

int run_index(const given_flags& given, bool drop) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto& wanted = settings->store;
  const auto* kind = config::known_stores().kind_of(wanted.url);
  if (kind == nullptr || !has_index(*kind)) {
    std::cerr << "onceguard: only " << config::known_stores().examples(has_index)
              << " may have an index by key\n";
    return exit_usage;
  }
  if (const auto why = unusable_store(wanted.url); !why.empty()) {
    std::cerr << "onceguard: " << why << "\n";
    return exit_store;
  }
  const auto done = kind->index_keys(wanted, drop);
  if (!done) return complain(done.error());
  std::cout << (drop ? "there is no index by key\n" : "there is an index by key\n");
  return exit_ok;
}

}  // namespace

void add_keys_index_command(const command& added) {
  const auto given = add_store_flags(added);
  const auto drop = std::make_shared<bool>(false);
  added.add({{"--drop", drop.get(), "drop the index instead"}});
  added.runs([=] { return run_index(*given, *drop); });
}

}  // namespace onceguard::cli::keys
