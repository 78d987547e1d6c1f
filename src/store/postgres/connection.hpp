// One connection to the server: connects, sets up the session, carries out one trip at a time, and
// notices its end while idle. libpq handles the protocol and this class the waiting. Only the
// resolution of a host name blocks. Belongs to the thread that runs its io_context.
#pragma once
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/timer_wheel.hpp"
#include "store/postgres/conninfo.hpp"
#include "store/postgres/trip.hpp"

namespace onceguard::postgres {

class connection;

/// How the database's memory compares with the memory that was known before.
enum class origin_match : std::uint8_t { same, another, older_copy };

/// The events of a connection. A handler may start a trip or open the connection again.
class connection_events {
 public:
  /// The server's greeting at the begin of a session. If the result is `another`, the connection
  /// raises the database's tokens before anything else. An older copy gets another identity, too.
  [[nodiscard]] virtual origin_match on_greeting(const connection& connection,
                                                 const greeting& greeting) = 0;
  /// The connection can carry out a trip now.
  virtual void on_ready(connection& connection) = 0;
  /// The connection is closed. Its trip, if there was one, has ended before.
  virtual void on_lost(connection& connection, const failure& why) = 0;
  virtual void on_announcement(std::string_view payload) = 0;
  virtual void on_warning(std::string_view text) = 0;

 protected:
  ~connection_events() = default;
};

class connection final : private base::deadline {
 public:
  connection(boost::asio::io_context& context, connection_events& events, milliseconds timeout);
  ~connection() override { close(); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] bool closed() const noexcept { return phase_ == phase::closed; }
  [[nodiscard]] bool idle() const noexcept { return phase_ == phase::idle; }
  [[nodiscard]] bool ready() const noexcept {
    return phase_ == phase::idle || phase_ == phase::busy;
  }

  /// Whether a pooler may give the session to another client after each transaction. Then nothing
  /// is left in the session or relied on there, and nothing is announced.
  [[nodiscard]] bool pooled() const noexcept { return pooled_; }

  /// Begins to connect a closed connection. on_ready() or on_lost() follows, never from within.
  void open(const target& target, bool listens);
  /// Sends the trip on an idle connection. The trip's end follows, then on_ready() or on_lost().
  void start(std::unique_ptr<trip> sent);
  /// Drops the connection without an event, also for its trip.
  void close() noexcept;

 private:
  enum class phase : std::uint8_t {
    closed,
    connecting,  ///< PQconnectPoll says what to wait for
    inquiring,   ///< the server's process is being compared with the one that greeted
    setting_up,  ///< the settings and the prepared statements are on their way
    idle,
    busy,  ///< a trip is on its way, or the rollback of one
  };

  void expired() override;
  void lose(const failure& why);

  // connecting
  void poll_connection();
  [[nodiscard]] bool attach();
  void detach() noexcept;
  void inquire();
  void end_inquiry();
  void set_up();
  void end_set_up();
  void refuse_set_up();

  // waiting
  void await(boost::asio::posix::stream_descriptor::wait_type type);
  void on_event(boost::asio::posix::stream_descriptor::wait_type type);
  void flush();
  void receive();

  // transactions
  [[nodiscard]] bool begin();
  [[nodiscard]] bool end();
  [[nodiscard]] bool send(const trip& sent);
  [[nodiscard]] bool announce(const std::string& payload);
  void roll_back();

  // results
  void take(result_ptr got);
  void take_set_up(const PGresult* got);
  void synced();
  void end_trip();
  void read_announcements();
  static void on_notice(void* self, const PGresult* notice);

  boost::asio::io_context& context_;
  connection_events& events_;
  const milliseconds timeout_;
  PGconn* on_ = nullptr;
  boost::asio::posix::stream_descriptor socket_;
  phase phase_ = phase::closed;
  std::uint64_t epoch_ = 0;  // a completion handler of an earlier epoch does nothing
  bool reading_ = false;
  bool writing_ = false;
  bool listens_ = false;
  int syncs_ = 0;  // still to come
  int set_up_results_ = 0;
  greeting greeting_;
  bool pooled_ = false;
  bool expects_pooler_ = false;  // prepared statements vanished, so there must be one
  bool in_transaction_ = false;  // one that this side began, and that has not ended yet
  bool raised_ = false;          // the tokens of an older copy

  std::unique_ptr<trip> trip_;
  result_ptr rows_;  // of the trip's statement, until its transaction is committed
  std::optional<failure> failed_;
  bool distrusted_ = false;  // a warning said that a standby was not waited for
};

}  // namespace onceguard::postgres
