// One connection to a server with many commands in flight at a time: connects, sets up, sends and
// receives. Belongs to the thread that runs its io_context.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/timer_wheel.hpp"
#include "store/redis/commands/queries.hpp"
#include "store/redis/pool/server_facts.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/transport/connection.hpp"

namespace onceguard::redis {

class pipeline;

class pipeline_events {
 public:
  [[nodiscard]] virtual const known_metadata& known(std::size_t part) const noexcept = 0;
  /// Whether it is known whose memory the store has, so that leases may be granted.
  [[nodiscard]] virtual bool memory_known() const noexcept = 0;
  /// The servers that are masters now, separated by commas. Empty: only this server.
  [[nodiscard]] virtual const std::string& masters() const noexcept = 0;
  /// The parts of the store whose requests this connection carries.
  [[nodiscard]] virtual std::vector<std::size_t> parts_of(const pipeline& pipeline) const = 0;
  virtual void on_facts(pipeline& pipeline, const server_facts& facts) = 0;
  virtual void on_greeting(std::size_t part, const std::string& run, const greeting& greeting) = 0;
  virtual void on_generation(std::size_t part, const std::string& run,
                             std::uint64_t generation) = 0;
  /// The connection takes requests now.
  virtual void on_ready(pipeline& pipeline) = 0;
  /// The connection is closed. All its requests have ended or were returned before.
  virtual void on_lost(pipeline& pipeline, const failure& why) = 0;
  /// The request has its answer.
  virtual void on_ended(entry ended) = 0;
  /// The request has no answer. `doubtful` tells whether it may have been carried out.
  virtual void on_returned(pipeline& pipeline, entry back, const failure& why) = 0;
  /// The request was not carried out: it belongs to another server, or can't be carried out now.
  virtual void on_redirected(pipeline& pipeline, entry back, const failure& why) = 0;
  /// A part of the store has left this server, or is leaving it.
  virtual void on_astray(pipeline& pipeline) = 0;
  /// Replies have arrived and were handled: more requests may be sent.
  virtual void on_progress(pipeline& pipeline) = 0;

 protected:
  ~pipeline_events() = default;
};

/// What all connections to a server share. Must outlive the connections.
struct pipeline_context {
  connection_context connections;
  pipeline_events& events;
  const redis_params& params;
  const keyspace& names;
  endpoint to;
};

/// The requests that are sent together are a batch. Behind the requests of a batch stands one
/// command that counts the batch in the metadata of a part that the server has, so that a loss of
/// memory shows before a lease of the batch counts, and, if replicas must confirm, a WAIT.
class pipeline final : private base::deadline {
 public:
  explicit pipeline(const pipeline_context& context) : in_(context) {}
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  [[nodiscard]] bool closed() const noexcept { return phase_ == phase::closed; }
  [[nodiscard]] bool ready() const noexcept { return phase_ == phase::ready; }
  [[nodiscard]] steady_time ready_since() const noexcept { return ready_since_; }
  /// The number of requests that may be sent now.
  [[nodiscard]] std::size_t room() const noexcept;
  [[nodiscard]] bool idle() const noexcept { return sent_.empty() && held_.empty(); }

  /// Begins to connect a closed connection. on_ready() or on_lost() follows, never from within.
  void open();
  /// Appends a request on a ready connection; flush() sends. `asking`: to the node that the slot
  /// moves to.
  void send(entry entry, bool asking = false);
  /// In a cluster: the parts have changed. Greets the new ones, before all requests that are sent
  /// later.
  void greet_parts();
  /// A part has another name now.
  void rename(std::size_t part, const std::string& name);
  void flush();
  /// Closes the connection. on_lost() follows, never from within.
  void close(failure why);

 private:
  enum class phase : std::uint8_t {
    closed,   ///< nothing is open; open() → opening
    opening,  ///< connects, logs in, loads the scripts, greets; all done → ready; else → closing
    ready,    ///< takes requests; close() or a failure → closing
    closing,  ///< reading and writing end; both have → closed, and all requests are returned
  };
  enum class kind : std::uint8_t {
    request,
    ignored,   ///< a command whose reply does not matter
    counting,  ///< the write that counts a batch
    wait,      ///< WAIT, whose reply confirms the requests before it
    greeting,
    end,  ///< of a batch; there is no reply
  };
  struct expected {
    kind what = kind::request;
    entry of{};
    std::size_t part = 0;          ///< greeted, counted in
    bool not_carried_out = false;  ///< the server refused the request
  };
  /// A request that has its reply, and waits for the end of its batch.
  struct held_request {
    entry of;
    reply_ptr got;
  };
  /// What is known of a batch when its end is reached.
  struct batch_end {
    std::optional<std::size_t> part;  ///< counted in
    std::uint64_t count = 0;
    std::optional<failure> uncounted;
    bool confirmed = true;  ///< by enough replicas
  };

  void expired() override;
  void enter(phase next);
  [[nodiscard]] boost::asio::awaitable<void> live();
  [[nodiscard]] boost::asio::awaitable<void> write_all();
  void watch();
  void fit_call(std::size_t begin, script which);
  void end_batch();
  void count_in_next_part();

  // Setting up (pipeline_setup.cpp). Failures are thrown.
  [[nodiscard]] boost::asio::awaitable<void> set_up();
  [[nodiscard]] boost::asio::awaitable<reply_ptr> ask(std::string command);
  [[nodiscard]] boost::asio::awaitable<server_facts> ask_facts();
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> ask_setting(const char* name);
  [[nodiscard]] std::string greeting_for(std::size_t part) const;
  void take_greeting(std::size_t part, const reply& reply);

  // replies
  void take_replies();
  void take(expected first, reply_ptr got);
  void take_count(std::size_t part, const reply& reply);
  void take_end();
  void conclude(held_request one, bool forgot);
  void return_all();
  [[nodiscard]] std::uint32_t replicas() const noexcept { return in_.connections.at.min_replicas; }

  const pipeline_context in_;
  phase phase_ = phase::closed;
  steady_time ready_since_{};
  std::unique_ptr<connection> connection_;
  bool flags_of_scripts_ = true;  // of the server
  std::string run_;               // of the server
  std::string node_;              // which of several it is
  std::optional<failure> why_;    // it was closed
  int running_ = 0;               // coroutines
  std::string outgoing_;          // to be written next
  std::string writing_;           // being written
  std::deque<expected> sent_;
  // The batch that is being made.
  std::size_t in_batch_ = 0;
  bool writes_ = false;
  std::string announced_;
  // The batch whose replies arrive.
  std::vector<held_request> held_;
  batch_end end_;
  /// The parts that were greeted, with their names; empty: the greeting is under way, or refused.
  std::map<std::size_t, std::string> greeted_;
  std::optional<std::size_t> counted_in_;  // what batches are counted in
  std::uint64_t generation_ = 0;           // of that part, as far as this connection knows
  bool full_ = false;  // the server had no room to count a batch by a plain command
};

}  // namespace onceguard::redis
