// Notes of the records that may need a person, so that nobody has to scan for them: those that were
// left or met unknown or unreadable, and those that a sweep finds with a lease that is over. A note
// is a hint; the record decides.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/scan/full_scan.hpp"

namespace onceguard::redis {

/// Thread-safe. The pool must outlive it.
class attention_notes {
 public:
  explicit attention_notes(server_pool& pool) : pool_(pool) {}

  /// Notes the records. A failure is left to the sweep.
  boost::asio::awaitable<void> note(std::vector<record_id> ids, steady_time until);
  /// Reports the records that are noted; as scan_all.
  [[nodiscard]] boost::asio::awaitable<std::optional<error>> scan(steady_time until,
                                                                  scan_listener& listener);
  /// Goes on through all records, to their end or until `pause_at`, and notes what nobody has
  /// settled. At their end, drops the notes that no record bears out any more.
  [[nodiscard]] boost::asio::awaitable<std::optional<error>> sweep(steady_time pause_at,
                                                                   steady_time until);

 private:
  /// Where the sweep goes on. No server: with a new round.
  struct position {
    std::vector<server_pin> left;
    std::string cursor = "0";
  };

  [[nodiscard]] boost::asio::awaitable<result<std::vector<record_id>>> noted(steady_time until);
  /// Examines some records of a server. True: these were its last ones.
  [[nodiscard]] boost::asio::awaitable<result<bool>> sweep_some(position& here, steady_time until);
  [[nodiscard]] boost::asio::awaitable<std::optional<error>> drop_notes(steady_time until);

  server_pool& pool_;
  std::mutex mutex_;
  position position_;  // under the mutex
};

}  // namespace onceguard::redis
