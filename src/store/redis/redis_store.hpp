// The fast shared store: one Redis server, through the scripts of lua/.
#pragma once
#include <memory>
#include <mutex>

#include <onceguard/store.hpp>

#include "store/open.hpp"
#include "store/redis/pool.hpp"
#include "store/redis/redis_params.hpp"

namespace onceguard::redis {

struct scan_step;

/// Each claim, settle and extension is one script on one record, and all that are there travel
/// together. Callers are coroutines on io_contexts that one thread each runs. Stop it before the
/// last of those ends.
class redis_store final : public store {
 public:
  /// Connects; blocks, up to the timeout. errc::invalid_argument: the URL, the permissions or the
  /// server's configuration are wrong; no error text repeats the URL.
  [[nodiscard]] static result<std::unique_ptr<redis_store>> open(redis_params params);
  ~redis_store() override { stop(); }

  [[nodiscard]] store_traits traits() const override;
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override;
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution how,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  /// Goes through all records for each page: there is no index. The answers are left out.
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  /// Goes through all records.
  boost::asio::awaitable<result<counts>> count(milliseconds timeout) override;
  /// The server removes by itself what has expired: nothing is left to do.
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override;
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override;
  void stop() override;

 private:
  redis_store(redis_params params, address at, std::optional<boost::asio::ssl::context> tls)
      : pool_(std::move(params), std::move(at), std::move(tls)) {}

  [[nodiscard]] boost::asio::awaitable<result<scan_step>> scan(std::string cursor, int state,
                                                               bool heads, steady_time until);

  pool pool_;
  std::mutex stopping_;
};

}  // namespace onceguard::redis

namespace onceguard {

/// `redis://…`, `rediss://…`
[[nodiscard]] result<std::unique_ptr<store>> make_redis_store(const store_params& params);

}  // namespace onceguard
