// The admin listener: HTTP/1.1 on a thread of its own, so that neither a busy data path delays
// health, nor the admin API the data path.
#pragma once
#include <memory>

#include <onceguard/error.hpp>

#include "admin/resource.hpp"
#include "base/clock.hpp"
#include "gateway/params/admin_params.hpp"
#include "http1/server/listener.hpp"

namespace boost::asio {
class io_context;
}

namespace onceguard::admin {

class sign_ins;
class token_list;

/// Thread-safety: add() before start(); the others from any thread.
class server {
 public:
  using tokens = std::shared_ptr<const token_list>;

  /// `kept`: who has signed in to its page, where that outlives it; by one listener at a time.
  explicit server(const admin_params& params, std::shared_ptr<sign_ins> kept = nullptr);
  ~server();  ///< closes all connections; running handlers end unfinished

  /// The handler runs on the listener's thread.
  void add(resources more);
  /// The web page, and signing in to it. `serves`: "gateway",
  /// "consumers" or "workers".
  void add_page(std::string_view serves);
  /// For background work of the resources. Its thread runs from start() on.
  [[nodiscard]] boost::asio::io_context& io() noexcept;

  /// Reads the tokens and begins to listen. errc::invalid_argument: the tokens are wrong;
  /// errc::conflict: it can't listen there now.
  /// `passed`: a socket that listens at the address already, which it takes over.
  [[nodiscard]] result<void> start(const http1::passed_listener& passed = {});
  /// The number of the listening socket, for a successor; from start() on.
  [[nodiscard]] int socket() const;
  /// Whether it removes the socket's file at its end.
  [[nodiscard]] bool made_file() const;
  /// A successor takes the requests, at the same socket or at one of its own. Those that run are
  /// finished.
  void hand_over(bool socket_goes_on);
  /// Where it listens; with the port that was selected for port 0.
  [[nodiscard]] base::server_address local() const;
  /// Reads the tokens again, for set_tokens(); null: none are needed.
  [[nodiscard]] result<tokens> read_tokens() const;
  void set_tokens(tokens read);
  /// Waits until no act is in progress any more, or the time has come.
  void wait_for_acts(base::boot_clock::time_point until) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace onceguard::admin
