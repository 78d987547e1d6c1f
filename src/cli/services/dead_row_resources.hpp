// The dead rows of outboxes, for the admin API of `onceguard relay`: what `onceguard outbox` does.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "admin/audit_api.hpp"
#include "admin/resource.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::services {

/// One look or act at a time, on a thread of its own: each waits for a database.
class dead_row_service {
 public:
  /// Must outlive it.
  explicit dead_row_service(const config::settings& settings) : settings_(settings) {}
  dead_row_service(const dead_row_service&) = delete;
  dead_row_service& operator=(const dead_row_service&) = delete;
  ~dead_row_service() { close(); }

  /// GET /api/workers/{worker}/rows, and POST …/rows/retry and …/rows/drop. It must be closed
  /// before the listener ends.
  [[nodiscard]] admin::resources make_resources(admin::audit_source audit);
  /// What runs is finished, without the rows that it has not come to; what is asked for later is
  /// refused.
  void close();

 private:
  boost::asio::awaitable<admin::response> list(const admin::request& wanted);
  boost::asio::awaitable<admin::response> act(const admin::request& wanted, bool retries,
                                              const admin::audit_source& audit);

  [[nodiscard]] bool begin();
  void end();
  [[nodiscard]] bool is_closed();

  const config::settings& settings_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
  bool closed_ = false;
  boost::asio::thread_pool pool_{1};
};

}  // namespace onceguard::cli::services
