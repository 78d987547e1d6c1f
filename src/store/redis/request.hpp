// What travels to Redis: one command and who waits for its reply.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "store/call.hpp"
#include "store/redis/endpoint.hpp"
#include "store/redis/keyspace.hpp"
#include "store/redis/reply.hpp"
#include "store/redis/scripts.hpp"
#include "store/redis/token_block.hpp"

namespace onceguard::redis {

using steady_time = base::boot_clock::time_point;

/// One server, as long as it is the same process: what is true of no other.
struct server_pin {
  endpoint at;
  std::uint64_t life = 0;  ///< 0: it was not met yet
  friend bool operator==(const server_pin&, const server_pin&) = default;
};

/// Belongs to the pool's thread once its job was taken out of the queue.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  virtual ~request() = default;

  /// What is wrong with it, so that it is not sent at all.
  [[nodiscard]] virtual std::optional<error> complaint() const { return std::nullopt; }
  /// Requests of one record follow one another; null: it is about none.
  [[nodiscard]] virtual const record_id* about() const noexcept { return nullptr; }
  /// It goes to this server or fails; null: to where its record is.
  [[nodiscard]] virtual const server_pin* pin() const noexcept { return nullptr; }
  /// Appends the command to what is to be sent.
  virtual void write(std::string& text, const script_calls& scripts,
                     const keyspace& names) const = 0;
  /// Appends a command that may do without a script, with a token of those; false: there is none.
  [[nodiscard]] virtual bool write_plainly(std::string&, const keyspace&, token_block&) {
    return false;
  }
  /// That command did it. Else its reply was nil, and the script is to be asked.
  virtual void done_plainly() {}
  /// Does it ask for a lease?
  [[nodiscard]] virtual bool claims() const noexcept { return false; }
  /// May it be sent again when its fate is unknown?
  [[nodiscard]] virtual bool repeatable() const noexcept { return true; }
  /// Is the second word of its reply the generation that a write got, or 0?
  [[nodiscard]] virtual bool carries_generation() const noexcept { return true; }
  /// One of these two ends it. The reply is no error; unexpected_reply may be thrown.
  virtual void arrived(const reply& reply) = 0;
  virtual void fail(const error& why) = 0;
  /// The data went back with its reply: a lease that it got is nobody's, and is to be given back.
  void put_grant_in_doubt(const std::string& name) {
    if (!claims()) return;
    fail(error(errc::store_lost, name + ": its data is older than it was", effect::done));
  }

  bool doubtful = false;  ///< an earlier copy of it is of unknown fate
};

/// What callers wait for: requests that are answered together.
class job : public call {
 public:
  explicit job(milliseconds timeout) : give_up_at_(base::boot_now() + timeout) {}

  /// Its caller does not wait any longer than this.
  [[nodiscard]] steady_time give_up_at() const noexcept { return give_up_at_; }
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  [[nodiscard]] virtual request& part(std::size_t i) noexcept = 0;
  /// One of its parts has ended. True: that was the last one.
  [[nodiscard]] bool ended_one() noexcept { return ++ended_ == size(); }

 private:
  const steady_time give_up_at_;
  std::size_t ended_ = 0;
};

/// A part of a job on its way.
struct entry {
  std::shared_ptr<job> of;
  request* what = nullptr;
  std::uint64_t number = 0;  ///< in the order in which they came
  std::uint16_t request_queue = 0;
  bool queued = false;  ///< sent as its lane goes, not to a server that was named
};

}  // namespace onceguard::redis
