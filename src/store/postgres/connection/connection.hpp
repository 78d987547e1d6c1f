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
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/timer_wheel.hpp"
#include "libpq/conninfo.hpp"
#include "store/postgres/connection/session_setup.hpp"
#include "store/postgres/connection/trip.hpp"

namespace onceguard::postgres {

class connection;

/// The events of a connection. A handler may start a trip or open the connection again.
class connection_events {
 public:
  [[nodiscard]] virtual const known_memory& memory() const noexcept = 0;
  /// The server's greeting at the begin of a session.
  virtual void on_greeting(const connection& connection, const greeting& greeting) = 0;
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
    return phase_ == phase::idle || phase_ == phase::busy || phase_ == phase::rolling_back;
  }

  /// Whether a pooler may give the session to another client after each transaction. Then nothing
  /// is left in the session or relied on there, and nothing is announced.
  [[nodiscard]] bool pooled() const noexcept { return pooled_; }

  /// The number under which the database counts the leases of this connection.
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }

  /// Begins to connect a closed connection. on_ready() or on_lost() follows, never from within.
  void open(const target& target, bool listens);
  /// Sends the trip on an idle connection. The trip's end follows, then on_ready() or on_lost().
  void start(std::unique_ptr<trip> sent);
  /// Drops the connection without an event, also for its trip.
  void close() noexcept;

 private:
  enum class phase : std::uint8_t {
    closed,      ///< nothing is open; open() → connecting
    connecting,  ///< PQconnectPoll says what to wait for; made → inquiring
    inquiring,   ///< which process of the server is it? A pooler greets with another → setting_up
    setting_up,  ///< settings, greeting, prepared statements are on their way → idle
    idle,        ///< takes a trip: start() → busy
    busy,        ///< a trip is on its way; its end → idle, or → rolling_back
    rolling_back,  ///< behind a pooler: the transaction of a trip that failed is ended → idle
    // From each of them: a failure, or the time is up → closed.
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
  [[nodiscard]] bool send_calls();
  void roll_back();

  // results
  void take(result_ptr got);
  void check_greeting();
  void synced();
  void become_idle();
  void end_trip();
  void read_announcements();
  static void on_notice(void* self, const PGresult* notice);

  boost::asio::io_context& context_;
  connection_events& events_;
  const milliseconds timeout_;
  PGconn* handle_ = nullptr;
  boost::asio::posix::stream_descriptor socket_;
  phase phase_ = phase::closed;
  std::uint64_t epoch_ = 0;  // a completion handler of an earlier epoch does nothing
  bool reading_ = false;
  bool writing_ = false;
  bool listens_ = false;
  int syncs_ = 0;             // still to come
  std::size_t expected_ = 0;  // rows of the statements around the trip's, which come first
  greeting greeting_;
  bool pooled_ = false;
  bool expects_pooler_ = false;  // prepared statements vanished, so there must be one
  bool in_transaction_ = false;  // one that this side began, and that has not ended yet
  // Another one after some trips: versions of one row pile up while a transaction stays open.
  std::int64_t number_;
  std::uint64_t trips_ = 0;

  std::unique_ptr<trip> trip_;
  std::vector<result_ptr> results_;  // of the statements, until their transaction is committed
  std::optional<failure> failed_;
  bool distrusted_ = false;  // a warning said that a standby was not waited for
};

}  // namespace onceguard::postgres
