// The links of a store and the thread that runs them: keeps them up, hands each what is its own
// (a record's requests always travel by the same link, so they follow one another as they came),
// and says when the server is out of reach.
#pragma once
#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/batch_queue.hpp"
#include "store/redis/link.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::redis {

class pool final : private link_events {
 public:
  pool(redis_params params, address at, std::optional<boost::asio::ssl::context> tls);
  ~pool() { stop(); }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  /// Waits until a link is ready, the configuration is seen to be wrong, or the time is over.
  [[nodiscard]] std::optional<error> wait_until_ready();
  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  [[nodiscard]] const address& at() const noexcept { return at_; }
  [[nodiscard]] const keyspace& names() const noexcept { return names_; }
  /// Does the server keep what it acknowledged? As it said when it was last greeted.
  [[nodiscard]] bool durable() const noexcept { return durable_; }
  /// The server's clock, as it was told just now. On the pool's thread.
  void look_at_clock(std::int64_t server_now);
  /// Finishes what was accepted, then ends. Not thread-safe; idempotent.
  void stop();

 private:
  struct kept_link {
    std::unique_ptr<link> on;
    std::deque<entry> waiting;
    steady_time open_at{};
    std::optional<steady_time> out_since{};
    bool was_ready = false;
    std::uint32_t failures = 0;  ///< to connect, in a row
  };

  [[nodiscard]] const known_store& known() const noexcept override { return known_; }
  void on_greeting(const greeting& said) override;
  void on_generation(std::uint64_t generation) override;
  void on_ready(link& of) override;
  void on_lost(link& of, const failure& why) override;
  void on_ended(entry ended) override;
  void on_returned(link& of, entry back, const failure& why) override;
  void on_progress(link& of) override;

  void run();
  void turn();
  void soon();
  void accept();
  void end(const entry& one, const error& why);
  void open_links(steady_time now);
  void hand_out(steady_time now);
  void judge_outage(steady_time now);
  void purge(kept_link& of, steady_time now);
  void fail_waiting(kept_link& of, const error& why);
  void wait_for_next_turn(steady_time now);
  void say_ready(std::optional<error> why);
  void tell_what_a_restart_loses(const server_facts& facts);
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] kept_link& kept(const link& of);
  [[nodiscard]] steady_time next_try(kept_link& of, steady_time now);

  const redis_params params_;
  const address at_;
  const keyspace names_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::io_context context_{1};
  const std::shared_ptr<batch_queue> queue_;
  std::promise<std::optional<error>> ready_;
  std::future<std::optional<error>> is_ready_ = ready_.get_future();
  std::atomic<bool> durable_{false};

  // All else belongs to the thread.
  boost::asio::steady_timer timer_;
  std::vector<call_ptr> calls_;
  std::vector<call_ptr> finished_;
  std::vector<kept_link> links_;
  std::size_t under_way_ = 0;  // parts that were accepted and have not ended
  std::size_t next_link_ = 0;  // for what is about no record
  known_store known_;
  std::optional<wall_guard> wall_;
  bool clock_doubted_ = false;
  std::optional<failure> last_failure_;
  std::string told_loss_;
  const steady_time opened_at_ = base::steady_now();
  bool said_ready_ = false;
  bool out_told_ = false;
  bool turn_posted_ = false;
  bool closing_ = false;
  steady_time timer_at_ = steady_time::max();
  std::thread thread_;
};

}  // namespace onceguard::redis
