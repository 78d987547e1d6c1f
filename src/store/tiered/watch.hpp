// Looks at both levels each second, on a thread of its own: it opens the accelerator, reads the
// epoch, ends it where something is in doubt, and removes what calls have left behind.
#pragma once
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/epoch_metadata.hpp"
#include "store/tiered/circuit_breaker.hpp"
#include "store/tiered/distrust.hpp"
#include "store/tiered/marker_table.hpp"
#include "store/tiered/tiered_params.hpp"

namespace onceguard::tiered {

class watch {
 public:
  /// What is handed in outlives it, or its stop().
  watch(epoch_metadata& metadata, accelerator_factory open, circuit_breaker& known,
        marker_table& marks, tiered_counters& counters, const tiered_params& params);
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
  ~watch() { stop(); }

  /// Blocks until it has looked once. errc::invalid_argument: the accelerator is not what it must
  /// be; it may be out of reach.
  [[nodiscard]] std::optional<error> first_poll() { return first_polled_.get(); }
  /// The accelerator, once it was opened; it stays until this object ends.
  [[nodiscard]] store* accelerator() const noexcept { return open_.load(); }
  /// Looks at once. From any thread.
  void poll_now();
  /// Ends the thread, then stops the accelerator. Blocks; idempotent.
  void stop();

 private:
  using time_point = circuit_breaker::time_point;
  enum class next { wait, poll };  ///< what a look leads to

  boost::asio::awaitable<void> live();
  boost::asio::awaitable<void> pause();
  void try_to_open();
  boost::asio::awaitable<next> poll();
  [[nodiscard]] bool is_another(const vitals& vitals);
  boost::asio::awaitable<next> make_beacon();
  boost::asio::awaitable<next> compare(std::uint64_t ticket, findings found, time_point asked_at);
  boost::asio::awaitable<next> end_epoch(findings found, std::string_view why);
  boost::asio::awaitable<next> remove_leftovers(digest epoch);
  boost::asio::awaitable<bool> remove(leftover leftover);
  boost::asio::awaitable<bool> forget(record_id id);
  void report_first_poll();
  void say_once(const error& why);

  epoch_metadata& metadata_;
  const accelerator_factory factory_;
  circuit_breaker& known_;
  marker_table& marks_;
  tiered_counters& counters_;
  const tiered_params params_;

  boost::asio::io_context context_{1};
  boost::asio::steady_timer timer_{context_};
  std::promise<std::optional<error>> first_poll_;
  std::future<std::optional<error>> first_polled_ = first_poll_.get_future();
  std::atomic<bool> stopping_{false};
  std::unique_ptr<store> accelerator_;
  std::atomic<store*> open_{nullptr};

  // All else belongs to the thread.
  bool has_polled_ = false;
  bool poked_ = false;
  std::optional<error> why_not_open_;
  std::string logged_;
  std::string identity_;  // of the accelerator, as it was the last time
  std::optional<findings> before_;
  time_point noted_at_{};
  std::thread thread_;
};

}  // namespace onceguard::tiered
