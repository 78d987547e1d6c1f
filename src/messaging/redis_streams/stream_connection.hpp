// A connection to the Redis server that has a stream. Blocks, for at most its timeout a call.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messaging/redis_streams/server_connection.hpp"

namespace onceguard::messaging::redis_streams {

/// All calls throw `failed`. Once the connection has failed, each call does so.
class connection {
 public:
  using time_point = moment;

  /// Finds the server, connects and logs in.
  connection(const stream_address& where, milliseconds timeout);

  /// The reply, which is no error. errc::not_found, errc::conflict: the server refused, and the
  /// connection is as good as before.
  [[nodiscard]] reply_ptr ask(const command& question);
  /// Sends all at once. The replies may be errors.
  [[nodiscard]] std::vector<reply_ptr> ask_all(std::span<const command> questions);
  /// Waits, and notices when the server closes the connection.
  void wait(time_point until);
  /// Throws if the reply is an error.
  void check(const redisReply& got);

  [[nodiscard]] bool usable() const noexcept { return server_ != nullptr; }
  [[nodiscard]] milliseconds timeout() const noexcept { return timeout_; }
  /// For people.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  /// What the work with the server returns; if that fails, the connection has.
  template <class Work>
  auto on_server(Work work);

  std::string name_;
  milliseconds timeout_;
  std::unique_ptr<server_connection> server_;  ///< null: the connection has failed
};

}  // namespace onceguard::messaging::redis_streams
