// One connection to the server: made, set up, used for one trip at a time, watched while idle.
// libpq does the protocol, this class the waiting: nothing here blocks but the look-up of a host's
// name. Belongs to the thread that runs its io_context.
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

/// What a memory is to the one that was seen before.
enum class origin_match : std::uint8_t { same, another, older_copy };

/// What a link tells its pool. The pool may start a trip or open the link again from within.
class connection_events {
 public:
  /// What the server said at the beginning of the session. Where it is not the memory that was
  /// seen before, its tokens are raised before anything else; an older copy becomes another memory.
  [[nodiscard]] virtual origin_match on_greeting(const connection& connection,
                                                 const greeting& greeting) = 0;
  /// It can take a trip now: the first one, or another one.
  virtual void on_ready(connection& connection) = 0;
  /// It is closed. A trip that it had was told before.
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

  /// Closed: begins to connect. Ends in `on_ready` or `on_lost`, never from within.
  void open(const target& target, bool listens);
  /// Idle: sends it. Ends in the trip's own calls, and then `on_ready` or `on_lost`.
  void start(std::unique_ptr<trip> sent);
  /// Drops the connection without a word to the trip.
  void close() noexcept;

 private:
  enum class phase : std::uint8_t {
    closed,
    connecting,  ///< PQconnectPoll says what to wait for
    setting_up,  ///< the settings and the prepared statements are on their way
    idle,
    busy,  ///< a trip is on its way
  };

  void expired() override;
  void lose(const failure& why);

  // connecting
  void poll_connection();
  [[nodiscard]] bool attach();
  void detach() noexcept;
  void set_up();
  void end_set_up();
  void refuse_set_up();

  // waiting
  void await(boost::asio::posix::stream_descriptor::wait_type type);
  void on_event(boost::asio::posix::stream_descriptor::wait_type type);
  void flush();
  void receive();

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
  std::uint64_t epoch_ = 0;  // what was waited for before it changed is over
  bool reading_ = false;
  bool writing_ = false;
  bool listens_ = false;
  int syncs_ = 0;  // still to come
  int set_up_results_ = 0;
  greeting greeting_;
  bool raised_ = false;  // the tokens of an older copy

  std::unique_ptr<trip> trip_;
  result_ptr rows_;  // of the trip's statement, until its transaction is committed
  std::optional<failure> failed_;
  bool distrusted_ = false;  // a warning said that a standby was not waited for
};

}  // namespace onceguard::postgres
