// The thread that runs the connections of a store: sends each request to the server that has its
// record, follows the parts of the store from server to server, and reports outages.
#pragma once
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/batch_queue.hpp"
#include "store/redis/pool/server_list.hpp"

namespace onceguard::redis {

class server_pool final : private server_events, private topology_events {
 public:
  server_pool(redis_params params, address address, std::optional<boost::asio::ssl::context> tls);
  ~server_pool() { stop(); }
  server_pool(const server_pool&) = delete;
  server_pool& operator=(const server_pool&) = delete;

  /// Waits until the servers are in reach, the configuration is found to be wrong, or the timeout
  /// has passed. At the timeout some servers are enough.
  [[nodiscard]] std::optional<error> wait_until_ready() { return ready_.get_future().get(); }
  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  [[nodiscard]] const address& at() const noexcept { return address_; }
  [[nodiscard]] const keyspace& names() const noexcept { return names_; }
  [[nodiscard]] bool durable() const noexcept { return servers_.durable(); }
  /// The servers that have a part of the store. From any thread.
  [[nodiscard]] std::vector<server_pin> servers() const { return servers_.pins(); }
  /// Whether the servers may forget records at any time.
  [[nodiscard]] bool copies_only() const noexcept { return params_.copies_only; }
  /// The server of this part can't be used any more: its requests wait, and each new connection
  /// checks the server again. From any thread.
  void refuse_server_of(std::size_t part, failure why);
  /// The names of the parts, as a poll has read them just now: a loss that the poll has reported is
  /// not to be noticed once more. From any thread.
  void note_names(std::vector<std::string> names);
  /// Takes note of a server's clock, which was read just now. From any thread.
  void read_clock(std::int64_t server_now) { known_.read_clock(server_now); }
  /// The gate that the polls of the vitals report to. From any thread.
  [[nodiscard]] grant_gate& memory() noexcept { return known_.gate(); }
  /// Finishes what was accepted, then ends. Not thread-safe; idempotent.
  void stop();

 private:
  enum class phase : std::uint8_t {
    opening,  ///< connects; enough servers in reach → serving; none by the timeout → failed
    serving,  ///< in reach; a connection is lost → away
    away,     ///< a server is out of reach, and the log says so; one is back → serving
    failed,   ///< the store could not be opened, and is stopped next
    stopped,  ///< from any of them: the queue is closed, and all requests have ended
  };

  // Events of the servers and of the topology.
  void on_facts(const server_facts& facts) override;
  void on_up(server& server) override;
  void on_down(server& server, const failure& why) override;
  void on_ended(entry ended) override;
  void on_returned(server& server, entry back, const failure& why) override;
  void on_redirected(server& server, entry back, const failure& why) override;
  void on_astray() override { topology_->distrust(); }
  void on_progress() override { turn(); }
  void on_layout(const layout& found) override;
  void on_no_layout(const failure& why) override;

  void run();
  void enter(phase next);
  void turn();
  void soon();
  void accept();
  void accept(entry part);
  void end(const entry& one, const error& why);
  void finish(entry ended);
  void hand_out(steady_time now);
  void hand_out_named(server& server, steady_time now);
  void send_queued(request_queue& queue, steady_time now);
  bool send(server& server, entry next, bool asking);
  void note_outage(steady_time now);
  void check_beginning(steady_time now);
  void purge(std::deque<entry>& waiting, steady_time now);
  void fail_all(std::deque<entry>& waiting, const error& why);
  void refuse_what_is_out_of_reach();
  void wait_for_next_turn(steady_time now, steady_time time);
  [[nodiscard]] error unreachable(const std::optional<failure>& why) const;

  const redis_params params_;
  const address address_;
  const keyspace names_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::io_context context_{1};
  known_parts known_;
  const server_context shared_;
  const std::shared_ptr<batch_queue> queue_;
  std::promise<std::optional<error>> ready_;

  // The members below belong to the thread.
  phase phase_ = phase::opening;
  boost::asio::steady_timer timer_;
  std::vector<call_ptr> calls_;
  std::vector<call_ptr> finished_;
  request_queues queues_;
  server_list servers_;
  std::unique_ptr<topology> topology_;
  std::size_t under_way_ = 0;  // parts of calls that were accepted and have not ended
  std::uint64_t accepted_ = 0;
  std::optional<failure> lost_why_;  // no layout could be found
  std::optional<error> failed_;      // the store could not be opened
  const steady_time opened_at_ = base::boot_now();
  bool turn_posted_ = false;
  steady_time timer_at_ = steady_time::max();
  std::thread thread_;
};

}  // namespace onceguard::redis
