// A connection to one server: bytes out, replies in. Belongs to the thread that runs its
// io_context.
#pragma once
#include <array>
#include <memory>
#include <string>

#include "store/redis/command.hpp"
#include "store/redis/failure.hpp"
#include "store/redis/reply.hpp"
#include "store/redis/socket.hpp"

namespace onceguard::redis {

/// What all connections of a store share. Must outlive the connections.
struct connection_context {
  boost::asio::io_context& context;
  const address& at;
  boost::asio::ssl::context* tls;
};

/// Thrown by the functions of a connection; caught by the user of the connection.
struct broken {
  failure why;
};

[[noreturn]] inline void give_up(std::string why) {
  throw broken{connection_failure(std::move(why))};
}

/// Makes a command. Not an initializer list, because gcc 12 can't keep one across a suspension.
template <class... Word>
std::string words(const Word&... each) {
  std::string out;
  append_command(out, {std::string_view(each)...});
  return out;
}

/// The text of a reply. Throws if the reply is an error.
std::string text_in(const reply_ptr& got);

class connection {
 public:
  connection(const connection_context& connection_context, const endpoint& endpoint)
      : socket_(connection_context.context, endpoint, connection_context.tls,
                connection_context.at.tls && connection_context.at.tls->verify),
        reader_(redisReaderCreate(), redisReaderFree) {}

  [[nodiscard]] boost::asio::awaitable<void> connect();
  [[nodiscard]] boost::asio::awaitable<void> log_in(const credentials& as);
  /// Sends one command and returns its reply. No other command may be in flight.
  [[nodiscard]] boost::asio::awaitable<reply_ptr> ask(std::string command);
  /// Waits for the next reply.
  [[nodiscard]] boost::asio::awaitable<reply_ptr> read_reply();

  [[nodiscard]] boost::asio::awaitable<socket::error_code> write(const std::string& bytes) {
    return socket_.write(bytes);
  }
  /// Waits for more bytes.
  [[nodiscard]] boost::asio::awaitable<void> receive();
  /// The next reply; null if the reply is not complete yet.
  [[nodiscard]] reply_ptr next_reply();
  /// Ends the running operation with a failure.
  void close() noexcept { socket_.close(); }

 private:
  socket socket_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
  std::array<char, 65'536> buffer_{};
};

}  // namespace onceguard::redis
