// The fast shared store: a Redis server, one that sentinels watch over, or a Redis Cluster, through
// the scripts of lua/.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/redis_params.hpp"
#include "store/redis/subscription.hpp"
#include "store/registry.hpp"

namespace onceguard::redis {

class pool;
struct part_vitals;

/// Each claim, settle and extension is one script on one record, or, on one server, a first claim
/// one command; and all that are there travel together. Callers are coroutines on io_contexts that
/// one thread each runs. Stop it before the last of those ends.
class redis_store final : public store {
 public:
  /// Connects; blocks, up to the timeout. errc::invalid_argument: the URL, the permissions or the
  /// server's configuration are wrong; no error text repeats the URL.
  [[nodiscard]] static result<std::unique_ptr<redis_store>> open(redis_params params);
  ~redis_store() override;

  [[nodiscard]] store_traits traits() const override;
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                               milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  /// Goes through all records for each page: there is no index. The answers are left out.
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  /// Goes through all records.
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override;
  /// The server removes by itself what has expired: nothing is left to do.
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override;
  /// Hears of this process's own settles, too.
  void on_settled(settled_listener listener) override { subscription_.listen(std::move(listener)); }
  void stop() override;

 private:
  boost::asio::awaitable<result<onceguard::vitals>> read_metadata(milliseconds timeout);

  redis_store(std::unique_ptr<pool> servers, milliseconds timeout);
  [[nodiscard]] std::optional<error> refuse_eviction(
      const std::vector<result<part_vitals>>& items) const;

  const std::unique_ptr<pool> pool_;
  subscription subscription_;
  std::mutex stopping_;
};

}  // namespace onceguard::redis

namespace onceguard {

[[nodiscard]] const store_kind& redis_store_kind() noexcept;

}  // namespace onceguard
