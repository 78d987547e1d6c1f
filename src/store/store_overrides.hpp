// What each store declares: the calls that the contract (onceguard/store.hpp) asks of it.
#pragma once
#include <onceguard/store.hpp>

/// In the class of a store, among its public members. `check_writes`, `on_settled` and `numbers`
/// are declared beside it by those stores that have more to say than the contract does.
#define ONCEGUARD_STORE_OVERRIDES                                                              \
  [[nodiscard]] ::onceguard::store_traits traits() const override;                             \
  boost::asio::awaitable<std::vector<::onceguard::result<::onceguard::verdict>>> claim(        \
      std::vector<::onceguard::claim> batch, ::onceguard::milliseconds timeout) override;      \
  boost::asio::awaitable<std::vector<::onceguard::result<::onceguard::settled>>> settle(       \
      std::vector<::onceguard::settlement> batch, ::onceguard::milliseconds timeout) override; \
  boost::asio::awaitable<std::vector<::onceguard::result<bool>>> extend(                       \
      std::vector<::onceguard::extension> batch, ::onceguard::milliseconds timeout) override;  \
  boost::asio::awaitable<::onceguard::result<::onceguard::resolve_decision>> resolve(          \
      ::onceguard::resolution request, ::onceguard::milliseconds timeout) override;            \
  boost::asio::awaitable<::onceguard::result<::onceguard::import_outcome>> import_record(      \
      ::onceguard::imported_record request, ::onceguard::milliseconds timeout) override;       \
  boost::asio::awaitable<::onceguard::result<std::optional<::onceguard::record_view>>> find(   \
      ::onceguard::record_id id, ::onceguard::milliseconds timeout) override;                  \
  boost::asio::awaitable<::onceguard::result<::onceguard::list_page>> list(                    \
      ::onceguard::list_filter filter, std::string cursor, std::size_t limit,                  \
      ::onceguard::milliseconds timeout) override;                                             \
  boost::asio::awaitable<::onceguard::result<::onceguard::counts>> count(                      \
      std::string cursor, ::onceguard::milliseconds timeout) override;                         \
  boost::asio::awaitable<::onceguard::result<std::size_t>> sweep(                              \
      std::size_t limit, ::onceguard::milliseconds timeout) override;                          \
  boost::asio::awaitable<::onceguard::result<::onceguard::vitals>> vitals(                     \
      ::onceguard::milliseconds timeout) override;                                             \
  void stop() override
