// One connection to a server with many commands in flight at a time: connects, sets up, sends and
// receives. Belongs to the thread that runs its io_context.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/timer_wheel.hpp"
#include "store/redis/connection.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/request.hpp"
#include "store/redis/server_facts.hpp"

namespace onceguard::redis {

class pipeline;

/// What a process knows of a part of the store: its identity, and its generation in a run of a
/// server.
struct known_metadata {
  std::string identity;
  std::string run;
  std::uint64_t generation = 0;
};

/// The metadata of a part at the begin of a connection.
struct greeting {
  std::size_t part = 0;
  std::string run;
  std::string identity;
  std::uint64_t generation = 0;
  std::int64_t now = 0;
  bool lost = false;  ///< writes that this process had seen are missing
};

class pipeline_events {
 public:
  [[nodiscard]] virtual const known_metadata& known(std::size_t part) const noexcept = 0;
  /// The servers that are masters now, separated by commas. Empty: only this server.
  [[nodiscard]] virtual const std::string& masters() const noexcept = 0;
  virtual void on_facts(pipeline& pipeline, const server_facts& facts) = 0;
  virtual void on_greeting(const greeting& greeting) = 0;
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
  /// The writes of this connection can't be counted in the metadata of the part.
  virtual void on_uncounted(pipeline& pipeline, std::size_t part) = 0;
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
  token_block& tokens;  ///< on one server; in a cluster it stays empty
};

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
  /// In a cluster, on a ready connection: greets a part, before all requests that are sent later.
  void greet(std::size_t part);
  /// In a cluster: the part whose metadata counts the writes of this connection; empty: none.
  void count_in(std::optional<std::size_t> part);
  void flush();
  /// Closes the connection. on_lost() follows, never from within.
  void close(failure why);

 private:
  enum class phase : std::uint8_t { closed, opening, ready };
  enum class kind : std::uint8_t {
    request,
    plain,     ///< a request that was written without a script
    asking,    ///< ASKING before a request
    counting,  ///< the write that counts a batch
    touching,  ///< a write for WAIT to wait for
    wait,      ///< WAIT, whose reply confirms the requests before it
    greeting,
    clock,   ///< TIME: were the tokens of the claims before it young enough?
    tokens,  ///< the reservation of tokens
  };
  struct expected {
    kind what = kind::request;
    entry of{};
    std::size_t part = 0;          ///< greeted, counted in
    std::int64_t taken_at = 0;     ///< clock: those tokens, by the server's
    bool not_carried_out = false;  ///< the server refused the request
    steady_time sent_at{};         ///< tokens
  };
  /// A request that has its reply, and waits for the confirmation that was sent after it.
  struct held_request {
    entry of;
    reply_ptr got;
    bool plain = false;
  };

  void expired() override;
  [[nodiscard]] boost::asio::awaitable<void> live();
  [[nodiscard]] boost::asio::awaitable<void> write_all();
  void expect(expected next) { sent_.push_back(std::move(next)); }
  void watch();
  void append_counting();
  void append_reservation();
  void append_reserve(std::string& text) const;

  // Setting up (pipeline_setup.cpp). Failures are thrown.
  [[nodiscard]] boost::asio::awaitable<void> set_up();
  [[nodiscard]] boost::asio::awaitable<reply_ptr> ask(std::string command);
  [[nodiscard]] boost::asio::awaitable<server_facts> ask_facts();
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> ask_setting(const char* name);
  [[nodiscard]] boost::asio::awaitable<void> load_scripts();
  [[nodiscard]] boost::asio::awaitable<void> make_current();
  void append_greeting(std::string& text, std::optional<std::size_t> part) const;
  [[nodiscard]] greeting read_greeting(const reply& reply, std::size_t part) const;
  void take_greeting(const greeting& greeting);
  [[nodiscard]] boost::asio::awaitable<void> reserve_tokens();

  // replies
  void take_replies();
  void take(const reply_ptr& got);
  void take_request(entry entry, reply_ptr got, bool plain);
  void ask_the_script(entry entry);
  void take_tokens(const reply& reply, steady_time asked_at);
  void take_clock(const reply& reply, std::int64_t taken_at);
  void take_refusal(const failure& refused);
  void take_count(std::size_t part, const reply& reply);
  void take_wait(const reply& reply);
  void conclude(held_request one);
  void conclude_all();
  void note_generation(std::size_t part, std::uint64_t number);
  void return_all();
  [[nodiscard]] std::uint32_t replicas() const noexcept { return in_.connections.at.min_replicas; }

  const pipeline_context in_;
  phase phase_ = phase::closed;
  steady_time ready_since_{};
  std::unique_ptr<connection> connection_;
  script_calls calls_;
  std::string run_;             // of the server
  std::string node_;            // which of several it is
  std::optional<failure> why_;  // it was closed
  int running_ = 0;             // coroutines
  std::string outgoing_;        // to be written next
  std::string writing_;         // being written
  std::deque<expected> sent_;
  std::size_t unconfirmed_ = 0;           // sent behind the last WAIT
  bool wrote_ = false;                    // one of them may be a write
  bool wrote_plainly_ = false;            // one of them was written without a script
  bool uncounted_ = false;                // what was written plainly before: the count was refused
  bool counted_ = true;                   // the write before the last WAIT was done
  std::vector<held_request> held_;        // replied, and waiting for their count or WAIT
  std::vector<held_request> concluding_;  // empty but in conclude_all, so that its room is kept
  std::optional<std::size_t> counting_in_;
  std::optional<std::uint64_t> held_count_;  // replied, and waiting for its WAIT
  std::uint64_t generation_ = 0;             // the last that this connection was told
};

}  // namespace onceguard::redis
