// The requests on their way to a server and back, over a connection that is set up. Belongs to the
// pool's thread.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/pool/known_parts.hpp"
#include "store/redis/transport/connection.hpp"

namespace onceguard::redis {

class server;

/// What a server reports to its pool.
class server_events {
 public:
  virtual void on_facts(const server_facts& facts) = 0;
  /// The connection takes requests now.
  virtual void on_up(server& server) = 0;
  /// The connection is closed. All its requests have ended or were returned before.
  virtual void on_down(server& server, const failure& why) = 0;
  /// The request has its answer.
  virtual void on_ended(entry ended) = 0;
  /// The request has no answer. `doubtful` tells whether it may have been carried out.
  virtual void on_returned(server& server, entry back, const failure& why) = 0;
  /// The request was not carried out: it belongs to another server, or can't be carried out now.
  virtual void on_redirected(server& server, entry back, const failure& why) = 0;
  /// A part of the store has left a server, or is leaving it.
  virtual void on_astray() = 0;
  /// Replies have arrived and were handled: more requests may be sent.
  virtual void on_progress() = 0;

 protected:
  ~server_events() = default;
};

/// What all servers of a store share. Must outlive them.
struct server_context {
  connection_context connections;
  server_events& events;
  known_parts& known;
  const redis_params& params;
  const keyspace& names;
};

/// The requests that are sent together are a batch. Behind the requests of a batch stands one
/// command that counts the batch in the metadata of a part that the server has, so that a loss of
/// memory shows before a lease of the batch counts, and, if replicas must confirm, a WAIT.
class pipeline {
 public:
  /// `node`: which of several servers it is.
  pipeline(const server_context& context, server& server, const server_facts& facts,
           std::string node)
      : context_(context),
        server_(server),
        run_(facts.run),
        node_(std::move(node)),
        flags_of_scripts_(facts.flags_of_scripts) {}

  /// The number of requests that may be sent now.
  [[nodiscard]] std::size_t room() const noexcept;
  [[nodiscard]] bool idle() const noexcept { return sent_.empty() && held_.empty(); }
  /// Appends a request to the batch. `asking`: to the node that the slot moves to.
  void send(entry entry, bool asking);
  /// The parts that the server has, in order: greets those that are new, before all requests that
  /// are sent later.
  void greet(const std::vector<std::size_t>& parts);
  /// A part has another name now.
  void rename(std::size_t part, const std::string& name);
  void end_batch();
  /// What is to be written next.
  [[nodiscard]] std::string& outgoing() noexcept { return outgoing_; }
  /// Takes the next reply. Throws `broken` if the connection must be closed.
  void take(reply_ptr got);
  /// Returns all requests. The effect of those in flight is unknown.
  void return_all(const failure& why);

 private:
  enum class kind : std::uint8_t {
    request,
    ignored,   ///< a command whose reply does not matter
    counting,  ///< the write that counts a batch
    wait,      ///< WAIT, whose reply confirms the requests before it
    greeting,
    end,  ///< of a batch; there is no reply
  };
  struct expected {
    kind command = kind::request;
    redis::entry entry{};
    std::size_t part = 0;          ///< greeted, counted in
    bool not_carried_out = false;  ///< the server refused the request
  };
  /// A request that has its reply, and waits for the end of its batch.
  struct held_request {
    redis::entry entry;
    reply_ptr got;
  };
  /// What is known of a batch when its end is reached.
  struct batch_end {
    std::optional<std::size_t> part;  ///< counted in
    std::uint64_t count = 0;
    std::optional<failure> uncounted;
    bool confirmed = true;  ///< by enough replicas
  };

  void append(std::string_view command, std::optional<script> called);
  void count_in_next_part();
  void take_request(entry subject, reply_ptr got);
  void take_greeting(std::size_t part, const reply& reply);
  void take_count(std::size_t part, const reply& reply);
  void take_end();
  void conclude(held_request one, bool forgot);
  [[nodiscard]] std::uint32_t replicas() const noexcept {
    return context_.connections.address.min_replicas;
  }

  const server_context& context_;
  server& server_;
  const std::string run_;
  const std::string node_;
  const bool flags_of_scripts_;
  std::string outgoing_;
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
