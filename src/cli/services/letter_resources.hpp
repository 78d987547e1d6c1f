// The dead letters and unknown messages of `onceguard consume`, for its admin API: what `onceguard
// messages` does, by a process that works on the queue itself.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include <onceguard/guard.hpp>

#include "admin/audit_api.hpp"
#include "admin/resource.hpp"
#include "cli/services/letter_listing.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::services {

/// One look or act at a time, on a thread of its own: each takes the letters from the broker.
class letter_service {
 public:
  /// All must outlive it.
  letter_service(const config::settings& settings, guard& records, kept_listings& listings)
      : settings_(settings), records_(records), listings_(listings) {}
  letter_service(const letter_service&) = delete;
  letter_service& operator=(const letter_service&) = delete;
  ~letter_service() { close(); }

  /// GET /api/workers/{worker}/messages, and POST …/messages/look, …/retry and …/drop. Where a look
  /// uses up what the broker counts, GET has the last look of an operator. It must be closed before
  /// the listener ends.
  [[nodiscard]] admin::resources make_resources(admin::audit_source audit);
  /// The message that is being sent again is finished; nothing more is begun.
  void close();

 private:
  /// Of one look or act: it ends with its last owner, whatever ends that. Empty: another one runs.
  using turn = std::shared_ptr<void>;

  boost::asio::awaitable<admin::response> list(const admin::request& wanted);
  boost::asio::awaitable<admin::response> poll(const admin::request& wanted,
                                               const admin::audit_source& audit);
  boost::asio::awaitable<kept_listing> read_listing(std::string name, turn mine);
  boost::asio::awaitable<admin::response> act(const admin::request& wanted, bool retries,
                                              const admin::audit_source& audit);
  [[nodiscard]] turn begin();
  [[nodiscard]] bool is_closed();
  void end();

  const config::settings& settings_;
  guard& records_;
  kept_listings& listings_;  // of the listener's thread
  std::mutex mutex_;
  std::condition_variable ended_;
  bool busy_ = false;    // under the mutex
  bool closed_ = false;  // under the mutex
  boost::asio::thread_pool pool_{1};
};

}  // namespace onceguard::cli::services
