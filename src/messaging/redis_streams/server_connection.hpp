// One connection to one Redis server, in the clear or by TLS. hiredis reads the replies; what
// waits, and for how long, is decided here.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_handle.hpp"
#include "messaging/redis_streams/command.hpp"
#include "messaging/redis_streams/reply.hpp"
#include "messaging/redis_streams/stream_url.hpp"
#include "tls/blocking_socket.hpp"

namespace onceguard::messaging::redis_streams {

using tls::moment;

/// All calls throw `failed`, whose text does not name the stream. After that it is of no use.
class server_connection {
 public:
  using login = std::optional<std::pair<std::string, std::string>>;

  /// Connects and logs in. errc::invalid_argument: a file can't be used.
  server_connection(const server_address& server, const std::optional<tls::client_files>& tls,
                    const login& user, moment until);

  /// Sends all at once. The replies may be errors.
  [[nodiscard]] std::vector<reply_ptr> ask_all(std::span<const command> questions, moment until);
  [[nodiscard]] reply_ptr ask(const command& question, moment until) {
    return std::move(ask_all({&question, 1}, until).front());
  }
  /// Waits, and notices when the server closes the connection.
  void wait(moment until);
  /// From now on each call tells the server that the slot is on its way to it (ASK).
  void follow_migration() noexcept { asking_ = true; }

 private:
  void send(const std::string& bytes, moment until);
  [[nodiscard]] reply_ptr read(moment until);
  /// False: nothing is there.
  bool take_arrived();

  tls::blocking_socket socket_;
  base::unique_handle<redisReader, redisReaderFree> reader_;
  bool asking_ = false;
};

/// What an error reply says; empty: it is none.
[[nodiscard]] std::string_view fault_in(const redisReply& got) noexcept;

}  // namespace onceguard::messaging::redis_streams
