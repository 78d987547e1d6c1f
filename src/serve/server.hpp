// The listener of the decision service and its threads.
#pragma once
#include <functional>
#include <memory>

#include <onceguard/error.hpp>
#include <onceguard/guard.hpp>

#include "base/address.hpp"
#include "serve/connection.hpp"
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
  /// `records` must outlive it. `authorise` may be null.
  server(guard& records, const serve_params& params, authorisation authorise);
  ~server();

  /// errc::invalid_argument: what is wrong with them; those before stay.
  [[nodiscard]] result<void> set_rules(serve_rules rules);
  /// After set_rules. errc::conflict: it can't listen there now.
  [[nodiscard]] result<void> start();
  [[nodiscard]] base::server_address local() const;
  /// No new claims; ends when no operation runs any more, or after params.drain.
  void drain();
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
