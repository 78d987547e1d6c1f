// The listener of the decision service and its threads.
#pragma once
#include <memory>

#include <onceguard/error.hpp>
#include <onceguard/guard.hpp>

#include "base/address.hpp"
#include "http1/server/listener.hpp"
#include "serve/params/serve_params.hpp"

namespace onceguard::serve {

/// Numbers of this moment.
struct server_load {
  std::size_t connections = 0;
  std::uint64_t refused = 0;  ///< connections, since the start
  std::size_t operations = 0;
  std::size_t calls = 0;
  std::size_t buffered = 0;
};

/// Thread-safe, but start() and the destructor.
class server {
 public:
  /// `records` must outlive it.
  server(guard& records, const serve_params& params);
  ~server();

  /// Before start(), and at each reload: takes the rules, and reads tokens and certificates anew.
  /// errc::invalid_argument: what is wrong with the rules or the tokens; those before stay.
  /// Certificates that can't be used are logged.
  [[nodiscard]] result<void> set_rules(serve_rules rules);
  /// errc::invalid_argument: what is wrong with the certificates. errc::conflict: it can't listen
  /// there now. `passed`: a socket that listens there already; negative: none.
  [[nodiscard]] result<void> start(const http1::passed_listener& passed = {});
  /// The number of the listening socket, for a successor.
  [[nodiscard]] int socket() const;
  /// Whether it removes the socket's file at its end.
  [[nodiscard]] bool made_file() const;
  [[nodiscard]] base::server_address local() const;
  /// No new claims; ends when no operation runs any more, or after params.drain.
  void drain();
  /// The same, while another process takes the connections. `socket_goes_on`: it has the socket, in
  /// whose queue they stay, and the file, too; else nobody needs these.
  void hand_over(bool socket_goes_on);
  [[nodiscard]] bool draining() const;
  /// Ends at once.
  void stop();
  /// Blocks until it has ended.
  void wait();
  [[nodiscard]] server_load load() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace onceguard::serve
