// Polls both levels each second, on a thread of its own: opens the accelerator, reads the epoch,
// ends an epoch whose copies must not be trusted, and removes markers that calls have left behind.
#pragma once
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/epoch_metadata.hpp"
#include "store/tiered/circuit_breaker.hpp"
#include "store/tiered/marker_table.hpp"
#include "store/tiered/tiered_params.hpp"

namespace onceguard::tiered {

/// What one poll of both levels found.
struct findings {
  epoch_reading truth;
  accelerator_state accelerator;
};

/// Why the copies made so far must not be trusted any more, for the log. Empty: there is no reason.
/// `before`: the previous poll.
[[nodiscard]] std::optional<std::string_view> reason_for_distrust(
    const findings& now, const std::optional<findings>& before);

class accelerator_monitor {
 public:
  /// The references must stay valid until stop() returns.
  accelerator_monitor(epoch_metadata& metadata, accelerator_factory open, circuit_breaker& breaker,
                      marker_table& markers, tiered_counters& counters,
                      const tiered_params& params);
  accelerator_monitor(const accelerator_monitor&) = delete;
  accelerator_monitor& operator=(const accelerator_monitor&) = delete;
  ~accelerator_monitor() { stop(); }

  /// Blocks until the first poll has ended. errc::invalid_argument: the accelerator can't be used
  /// as one. An accelerator that is out of reach is no error.
  [[nodiscard]] std::optional<error> first_poll() { return first_polled_.get(); }
  /// The accelerator; null until it was opened. Valid as long as this object.
  [[nodiscard]] store* accelerator() const noexcept { return open_.load(); }
  /// Polls now instead of at the end of the interval. From any thread.
  void poll_now();
  /// Ends the thread, then stops the accelerator. Blocks; idempotent.
  void stop();

 private:
  using time_point = circuit_breaker::time_point;
  enum class next_step { wait, poll };  ///< what follows a poll

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> wait_for_next_poll();
  void try_to_open();
  boost::asio::awaitable<next_step> poll();
  [[nodiscard]] bool is_another(const vitals& vitals);
  boost::asio::awaitable<next_step> make_beacon();
  boost::asio::awaitable<next_step> compare(std::uint64_t ticket, findings found,
                                            time_point asked_at);
  boost::asio::awaitable<next_step> end_epoch(findings found, std::string_view why);
  boost::asio::awaitable<next_step> remove_leftovers(digest epoch);
  boost::asio::awaitable<bool> remove(leftover leftover);
  boost::asio::awaitable<bool> forget(record_id id);
  void report_first_poll();
  void log_once(const error& why);

  epoch_metadata& metadata_;
  const accelerator_factory factory_;
  circuit_breaker& breaker_;
  marker_table& markers_;
  tiered_counters& counters_;
  const tiered_params params_;

  boost::asio::io_context context_{1};
  boost::asio::steady_timer timer_{context_};
  std::promise<std::optional<error>> first_poll_;
  std::future<std::optional<error>> first_polled_ = first_poll_.get_future();
  std::atomic<bool> stopping_{false};
  std::unique_ptr<store> accelerator_;
  std::atomic<store*> open_{nullptr};

  // The members below belong to the thread.
  bool first_poll_reported_ = false;
  bool poll_requested_ = false;
  std::optional<error> open_error_;
  std::string last_logged_;
  std::string identity_;  // of the accelerator, at the last poll
  std::optional<findings> before_;
  time_point noted_at_{};
  std::thread thread_;
};

}  // namespace onceguard::tiered
