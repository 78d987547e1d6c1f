// Requests to Redis: one command and its caller.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/call.hpp"
#include "store/redis/address.hpp"
#include "store/redis/keyspace.hpp"
#include "store/redis/reply.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/token_block.hpp"

namespace onceguard::redis {

using steady_time = base::boot_clock::time_point;

/// One process of a server. A restarted server is another one.
struct server_pin {
  endpoint at;
  std::uint64_t life = 0;  ///< 0: not connected yet
  friend bool operator==(const server_pin&, const server_pin&) = default;
};

/// Belongs to the pool's thread once its job was taken out of the queue.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  virtual ~request() = default;

  /// The reason why the request can't be sent; empty: it can.
  [[nodiscard]] virtual std::optional<error> complaint() const { return std::nullopt; }
  /// The record that the request is about; null: none. Requests of one record are carried out in
  /// order.
  [[nodiscard]] virtual const record_id* about() const noexcept { return nullptr; }
  /// The server that the request must go to; null: the server that has the record.
  [[nodiscard]] virtual const server_pin* pin() const noexcept { return nullptr; }
  /// Appends the command to the outgoing bytes.
  virtual void write(std::string& text, const script_calls& scripts,
                     const keyspace& names) const = 0;
  /// Appends a command that needs no script, with a token of the block. False: the script is
  /// needed.
  [[nodiscard]] virtual bool write_plainly(std::string&, const keyspace&, token_block&) {
    return false;
  }
  /// The command without a script was carried out. Otherwise its reply is nil, and the script
  /// decides.
  virtual void done_plainly() {}
  /// Whether the request is a claim.
  [[nodiscard]] virtual bool claims() const noexcept { return false; }
  /// Whether the request may be sent again when its effect is unknown.
  [[nodiscard]] virtual bool repeatable() const noexcept { return true; }
  /// Whether the second word of the reply is the generation of a write, or 0.
  [[nodiscard]] virtual bool carries_generation() const noexcept { return true; }
  /// One of these two functions ends the request. The reply is not an error. May throw
  /// unexpected_reply.
  virtual void arrived(const reply& reply) = 0;
  virtual void fail(const error& why) = 0;
  /// The memory changed while the request was in flight: nobody holds the granted lease, and it is
  /// given back.
  void put_grant_in_doubt(const std::string& name) {
    if (!claims()) return;
    fail(error(errc::store_lost, name + ": its data is older than it was", effect::done));
  }

  bool doubtful = false;  ///< an earlier sending has an unknown effect
};

/// A call: requests that are answered together.
class job : public call {
 public:
  explicit job(milliseconds timeout) : give_up_at_(base::boot_now() + timeout) {}

  /// When the caller stops waiting.
  [[nodiscard]] steady_time give_up_at() const noexcept { return give_up_at_; }
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual request& part(std::size_t i) noexcept = 0;
  /// One part has ended. True: it was the last one.
  [[nodiscard]] bool ended_one() noexcept { return ++ended_ == size(); }

 private:
  const steady_time give_up_at_;
  std::size_t ended_ = 0;
};

/// A part of a job in flight.
struct entry {
  std::shared_ptr<job> of;
  request* what = nullptr;
  std::uint64_t number = 0;  ///< in the order of arrival
  std::uint16_t request_queue = 0;
  bool queued = false;  ///< sent by its queue, not to a named server
};

}  // namespace onceguard::redis
