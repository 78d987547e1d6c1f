// The connections of a store, and the thread that runs them: keeps them open, assigns trips to
// them, and reports when the server is out of reach.
#pragma once
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <onceguard/store.hpp>

#include "store/batch_queue.hpp"
#include "store/postgres/batching/dispatcher.hpp"
#include "store/postgres/connection/connection.hpp"
#include "store/postgres/postgres_params.hpp"

namespace onceguard::postgres {

class connection_pool final : private connection_events {
 public:
  connection_pool(postgres_params params, conninfo where);
  ~connection_pool() { stop(); }
  connection_pool(const connection_pool&) = delete;
  connection_pool& operator=(const connection_pool&) = delete;

  /// Waits until a connection is ready, the configuration is found to be wrong, or the timeout has
  /// passed.
  [[nodiscard]] std::optional<error> wait_until_ready();
  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  [[nodiscard]] const std::string& name() const noexcept { return where_.name; }
  [[nodiscard]] grant_gate& gate() noexcept { return dispatcher_.gate(); }
  /// Whether nothing expires now, as the database's clock stepped. From any thread.
  [[nodiscard]] bool expiry_paused() const noexcept { return dispatcher_.expiry_paused(); }
  /// A claim of this process met another's lease: it may wait for the settle. From any thread.
  void note_waiting() noexcept { met_busy_ = true; }
  /// From any thread. The listener is called on the pool's thread. See store::on_settled().
  void listen(settled_listener listener);
  /// Finishes what was accepted, then ends. Not thread-safe; idempotent.
  void stop();

  /// Round trips so far.
  [[nodiscard]] std::uint64_t trips() const noexcept {
    return trips_.load(std::memory_order_relaxed);
  }

 private:
  struct kept_connection {
    std::unique_ptr<postgres::connection> connection;
    steady_time open_at{};
    bool was_ready = false;
    std::uint32_t failures = 0;  ///< to connect, in a row
  };

  void on_ready(connection& connection) override;
  void on_lost(connection& connection, const failure& why) override;
  [[nodiscard]] const known_memory& memory() const noexcept override {
    return dispatcher_.memory();
  }
  void on_greeting(const connection& connection, const greeting& greeting) override;
  void on_announcement(std::string_view payload) override;
  void on_warning(std::string_view text) override;

  void run();
  void turn();
  void open_connections(steady_time now);
  void hand_out();
  void note_outage(steady_time now);
  void wait_for_next_turn(steady_time now);
  void soon();
  void listen_for_settles(steady_time now);
  void say_ready(std::optional<error> why);
  [[nodiscard]] bool any_ready() const noexcept;
  [[nodiscard]] bool any_idle() const noexcept;
  [[nodiscard]] kept_connection& kept(const connection& connection);
  [[nodiscard]] steady_time next_try(kept_connection& connection, steady_time now);

  const postgres_params params_;
  const conninfo where_;
  boost::asio::io_context context_{1};
  const std::shared_ptr<batch_queue> queue_;
  std::promise<std::optional<error>> ready_;
  std::future<std::optional<error>> is_ready_ = ready_.get_future();
  std::atomic<std::uint64_t> trips_{0};
  std::atomic<bool> met_busy_{false};
  std::mutex listening_;  // guards the member below
  settled_listener reported_;

  // The members below belong to the thread.
  dispatcher dispatcher_;
  boost::asio::steady_timer timer_;
  std::vector<call_ptr> calls_;
  std::vector<kept_connection> connections_;
  std::size_t target_ = 0;  // the server that is tried next
  std::optional<steady_time> out_since_;
  bool outage_logged_ = false;
  steady_time listens_until_{};
  bool pooler_logged_ = false;
  std::optional<failure> last_failure_;
  const steady_time opened_at_ = base::boot_now();
  bool ready_reported_ = false;
  bool turn_posted_ = false;
  steady_time timer_at_ = steady_time::max();
  std::thread thread_;
};

}  // namespace onceguard::postgres
