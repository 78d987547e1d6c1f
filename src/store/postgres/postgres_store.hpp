// The shared store: a PostgreSQL database with the schema `onceguard`.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include <onceguard/store.hpp>

#include "store/epoch_metadata.hpp"
#include "store/postgres/batching/connection_pool.hpp"
#include "store/postgres/postgres_params.hpp"
#include "store/registry.hpp"
#include "store/store_overrides.hpp"

namespace onceguard::postgres {

/// Calls that wait at the same time are sent in one statement. Callers are coroutines on
/// io_contexts of one thread each. Call stop() before the last of these io_contexts ends. sweep()
/// reads the database's clock first: after a step of the clock nothing is swept.
class postgres_store final : public store, public epoch_metadata {
 public:
  /// Connects; blocks, up to the timeout. Creates nothing. errc::invalid_argument: the URL is
  /// wrong, or the schema is for newer versions only. errc::store_unreachable: also permissions and
  /// a schema that are missing. No error text repeats the URL.
  [[nodiscard]] static result<std::unique_ptr<postgres_store>> open(postgres_params params);
  ~postgres_store() override { stop(); }

  ONCEGUARD_STORE_OVERRIDES;
  boost::asio::awaitable<result<epoch_reading>> read_epoch(std::string accelerator,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<bool>> note(accelerator_state found, std::string distrusted,
                                            milliseconds timeout) override;
  /// By LISTEN onceguard_settled: each settle of a PostgreSQL store notifies that channel.
  void on_settled(settled_listener listener) override { pool_.listen(std::move(listener)); }
  [[nodiscard]] std::vector<store_number> numbers() const override;

  /// Round trips of batches and questions so far.
  [[nodiscard]] std::uint64_t trips() const noexcept { return pool_.trips(); }

 private:
  /// By the index by key; none: there is none.
  boost::asio::awaitable<result<std::optional<list_page>>> list_by_key(list_filter filter,
                                                                       std::string cursor,
                                                                       std::size_t limit,
                                                                       milliseconds timeout);
  boost::asio::awaitable<result<list_page>> list_noted(list_filter filter, std::string cursor,
                                                       std::size_t limit, milliseconds timeout);
  postgres_store(postgres_params params, conninfo where)
      : pool_(std::move(params), std::move(where)) {}
  template <class Act>
  boost::asio::awaitable<std::vector<result<typename Act::outcome_type>>> carry_out(
      std::vector<typename Act::item_type> batch, milliseconds timeout);
  template <class Decision, class Decide>
  boost::asio::awaitable<result<Decision>> decide_on_record(record_id id, Decide decide,
                                                            milliseconds timeout);
  /// For the store's own use: the users of the store don't learn of these vitals.
  boost::asio::awaitable<result<onceguard::vitals>> read_vitals(milliseconds timeout);

  connection_pool pool_;
  std::atomic<std::int64_t> size_{-1};  ///< of its tables in bytes, at the last sweep; -1: none was
  std::mutex stopping_;
};

}  // namespace onceguard::postgres

namespace onceguard {

[[nodiscard]] const store_kind& postgres_store_kind() noexcept;

}  // namespace onceguard
