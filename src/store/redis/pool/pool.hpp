// The servers of a store, and the thread that runs their connections: sends each request to the
// right server, follows the parts of the store from server to server, and reports outages.
#pragma once
#include <atomic>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "store/batch_queue.hpp"
#include "store/grant_gate.hpp"
#include "store/redis/pool/request_queues.hpp"
#include "store/redis/pool/server.hpp"
#include "store/redis/topology/topology.hpp"
#include "store/wall_guard.hpp"

namespace onceguard::redis {

class pool final : private server_events, private topology_events {
 public:
  pool(redis_params params, address address, std::optional<boost::asio::ssl::context> tls);
  ~pool() { stop(); }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;

  /// Waits until the servers are in reach, the configuration is found to be wrong, or the timeout
  /// has passed. At the timeout some servers are enough.
  [[nodiscard]] std::optional<error> wait_until_ready();
  [[nodiscard]] const std::shared_ptr<batch_queue>& queue() const noexcept { return queue_; }
  [[nodiscard]] const address& at() const noexcept { return at_; }
  [[nodiscard]] const keyspace& names() const noexcept { return names_; }
  /// Whether all servers keep acknowledged writes, as of their last greetings.
  [[nodiscard]] bool durable() const noexcept { return durable_; }
  /// The servers that have a part of the store. From any thread.
  [[nodiscard]] std::vector<server_pin> servers() const;
  /// Whether the servers may forget records at any time.
  [[nodiscard]] bool copies_only() const noexcept { return params_.copies_only; }
  /// The server of this part can't be used any more: its requests wait, and each new connection
  /// checks the server again. From any thread.
  void refuse_server_of(std::size_t part, failure why);
  /// The names of the parts, as a poll has read them just now: a loss that the poll has reported is
  /// not to be noticed once more. From any thread.
  void note_names(std::vector<std::string> names);
  /// Takes note of a server's clock, which was read just now. From any thread.
  void read_clock(std::int64_t server_now);
  /// The gate that the polls of the vitals report to. From any thread.
  [[nodiscard]] grant_gate& memory() noexcept { return memory_; }
  /// Finishes what was accepted, then ends. Not thread-safe; idempotent.
  void stop();

 private:
  // Events of the servers.
  [[nodiscard]] const known_metadata& known(std::size_t part) const noexcept override {
    return known_[part];
  }
  [[nodiscard]] const std::string& masters() const noexcept override { return masters_; }
  void on_facts(server& server, const server_facts& facts) override;
  [[nodiscard]] bool memory_known() const noexcept override { return memory_.known(); }
  void on_greeting(std::size_t part, const std::string& run, const greeting& greeting) override;
  void on_generation(std::size_t part, const std::string& run, std::uint64_t generation) override;
  void on_up(server& server) override;
  void on_down(server& server, const failure& why) override;
  void on_ended(entry ended) override;
  void on_returned(server& server, entry back, const failure& why) override;
  void on_redirected(server& server, entry back, const failure& why) override;
  void on_astray(server& server) override;
  void on_progress() override { turn(); }

  // Events of the topology.
  void on_layout(const layout& found) override;
  void on_no_layout(const failure& why) override;

  // The thread.
  void run();
  void turn();
  void soon();
  void accept();
  void accept(entry part);
  void end(const entry& one, const error& why);
  void finish(entry ended);
  void hand_out(steady_time now);
  void hand_out_named(server& server, steady_time now);
  void send_queued(std::size_t i, request_queue& queue, steady_time now);
  bool send(pipeline& pipeline, entry next, bool asking);
  void note_outage(steady_time now);
  void check_beginning(steady_time now);
  void purge(std::deque<entry>& waiting, steady_time now);
  void fail_all(std::deque<entry>& waiting, const error& why);
  void refuse_what_is_out_of_reach();
  void wait_for_next_turn(steady_time now, steady_time time);
  void say_ready(std::optional<error> why);
  [[nodiscard]] error unreachable(const std::optional<failure>& why) const;

  // Which server has which part.
  [[nodiscard]] server& server_at(const endpoint& endpoint);
  [[nodiscard]] server* find_server(const endpoint& endpoint) noexcept;
  void lead(std::size_t request_queue, server* server, steady_time now);
  void settle_in();
  void drop_servers(steady_time now);
  void take_out(server& server);
  void publish();
  void warn_of_loss_at_restart(const server_facts& facts);
  [[nodiscard]] std::size_t part_of_queue(std::size_t i) const noexcept {
    return names_.cut() ? i : 0;
  }

  const redis_params params_;
  grant_gate memory_;
  const address at_;
  const keyspace names_;
  const std::size_t pipelines_each_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::io_context context_{1};
  const connection_context connections_made_;
  const std::shared_ptr<batch_queue> queue_;
  std::promise<std::optional<error>> ready_;
  std::future<std::optional<error>> is_ready_ = ready_.get_future();
  std::atomic<bool> durable_{false};
  mutable std::mutex shared_;  // guards the members below
  std::vector<server_pin> published_;
  std::optional<wall_guard> wall_;
  bool clock_distrusted_ = false;

  // The members below belong to the thread.
  boost::asio::steady_timer timer_;
  std::vector<call_ptr> calls_;
  std::vector<call_ptr> finished_;
  std::list<server> servers_;
  request_queues queues_;
  std::unique_ptr<topology> topology_;
  std::vector<endpoint> layout_;  // whom it named last
  std::size_t under_way_ = 0;     // parts that were accepted and have not ended
  std::uint64_t accepted_ = 0;
  std::size_t next_queue_ = 0;  // for what is about no record
  std::vector<known_metadata> known_;
  std::string masters_;
  std::optional<failure> lost_why_;  // no layout could be found
  std::string loss_logged_;
  const steady_time opened_at_ = base::boot_now();
  bool ready_reported_ = false;
  bool outage_logged_ = false;
  bool turn_posted_ = false;
  bool closing_ = false;
  steady_time timer_at_ = steady_time::max();
  std::thread thread_;
};

}  // namespace onceguard::redis
