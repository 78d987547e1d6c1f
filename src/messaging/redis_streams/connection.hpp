// One connection to a Redis server, with hiredis. Blocks, for at most its timeout a call. (The
// look-up of the host's name is the system's, which has a time limit of its own.)
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "messaging/broker_url.hpp"
#include "messaging/redis_streams/command.hpp"
#include "messaging/redis_streams/reply.hpp"

namespace onceguard::messaging::redis_streams {

/// All calls throw `failed`. Once the connection has failed, each call does so.
class connection {
 public:
  using time_point = base::boot_clock::time_point;

  /// Connects and logs in.
  connection(const broker_url& url, milliseconds timeout);

  /// The reply, which is no error. errc::not_found, errc::conflict: the server refused, and the
  /// connection is as good as before.
  [[nodiscard]] reply_ptr ask(const command& question);
  /// Sends all at once. The replies may be errors.
  [[nodiscard]] std::vector<reply_ptr> ask_all(std::span<const command> questions);
  /// Waits, and notices when the server closes the connection.
  void wait(time_point until);
  /// Throws if the reply is an error.
  void check(const redisReply& got);

  [[nodiscard]] bool usable() const noexcept { return context_ != nullptr; }
  [[nodiscard]] milliseconds timeout() const noexcept { return timeout_; }
  /// For people.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct free_context {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
  };

  void log_in(const std::pair<std::string, std::string>& login);
  void send(const std::string& bytes, time_point until);
  [[nodiscard]] reply_ptr read(time_point until);
  /// False: the time is over.
  [[nodiscard]] bool ready(short events, time_point until) const;
  [[noreturn]] void give_up(const std::string& why, effect known);
  [[noreturn]] void give_up_late(effect known);

  std::string name_;
  milliseconds timeout_;
  std::unique_ptr<redisContext, free_context> context_;  ///< null: the connection has failed
};

}  // namespace onceguard::messaging::redis_streams
