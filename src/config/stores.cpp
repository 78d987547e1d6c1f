#include "config/stores.hpp"

#include "store/pepper.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/tiered/tiered_store.hpp"

namespace onceguard::config {
namespace {

/// The function opens the accelerator. Each call tries again.
tiered::accelerator_factory accelerator_of(const settings& settings) {
  redis::redis_params given;
  given.url = settings.accelerator.url;
  given.timeout = settings.store.timeout;
  given.clock = settings.store.clock;
  given.copies_only = true;
  return [given]() -> result<std::unique_ptr<store>> {
    auto opened = redis::redis_store::open(given);
    if (opened) return std::unique_ptr<store>(std::move(*opened));
    auto why = opened.error();
    why.detail = "accelerator: " + why.detail;
    return why;
  };
}

result<std::unique_ptr<store>> open_tiered(const settings& settings) {
  postgres::postgres_params given;
  given.url = settings.store.url;
  given.timeout = settings.store.timeout;
  given.clock = settings.store.clock;
  given.connections = settings.store.connections;
  auto truth = postgres::postgres_store::open(std::move(given));
  if (!truth) return truth.error();
  epoch_metadata& epochs = **truth;
  tiered::tiered_params params;
  params.replays_without_truth = settings.accelerator.replays_without_store;
  params.clock = settings.store.clock;
  auto opened =
      tiered::tiered_store::open(std::move(*truth), epochs, accelerator_of(settings), params);
  if (!opened) return opened.error();
  return with_secrets(std::move(*opened), settings.store);
}

}  // namespace

result<std::unique_ptr<late_store>> open_store(const settings& settings) {
  // Requests may come before the store can be opened, and files may be out of reach by then.
  if (const auto used = use_pepper(settings.store.key_pepper_file); !used) return used.error();
  const auto* kind = known_stores().kind_of(settings.store.url);
  auto known = kind == nullptr ? store_traits{} : kind->traits;
  const bool tiered = !settings.accelerator.url.empty();
  if (tiered) known = tiered::tiered_store::traits_over(std::move(known));
  return late_store::open(std::move(known), [&settings, tiered] {
    return tiered ? open_tiered(settings) : known_stores().open(settings.store);
  });
}

std::unique_ptr<query_source> make_query_source(const settings& settings, bool read_only) {
  if (settings.query.text.empty()) return nullptr;
  postgres::outcome_query_params params;
  params.url = settings.query.database.empty() ? settings.store.url : settings.query.database;
  params.query = settings.query.text;
  params.read_only = read_only;
  params.absent_is_not_done = settings.query.absent_is_none;
  return std::make_unique<query_source>(params);
}

}  // namespace onceguard::config
