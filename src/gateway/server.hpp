// The gateway: an HTTP/1.1 reverse proxy that makes guarded requests take effect once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/byte_budget.hpp>
#include <onceguard/engine.hpp>
#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "gateway/params/gateway_params.hpp"
#include "gateway/pending_report.hpp"
#include "observing/observation.hpp"
#include "reconcile/reconcile.hpp"
#include "trace/tracer.hpp"

namespace onceguard {
class audit_log;
}

namespace onceguard::gateway {

/// Numbers of this moment.
struct gateway_load {
  std::size_t connections = 0;
  std::size_t connections_max = 0;
  std::uint64_t connections_refused = 0;  ///< since the start
  std::size_t buffered = 0;               ///< in bytes
  std::size_t buffered_max = 0;
  bool draining = false;
};

/// Who listens at the addresses of a gateway that drains.
enum class listening_by : std::uint8_t { nobody, successor };

/// Thread-safety: every member may be called from any thread; start() once.
class server {
 public:
  /// The store must outlive the server. So must `query`, the outcome source for routes without a
  /// probe; null: there is none. And so must the observers, which get a report of each request;
  /// without any, no report is made. And so must `tracer`, which has to be one of the observers;
  /// null: no traces are sent, and those of the clients pass through.
  server(const gateway_params& params, const routing_params& routing, store& records,
         outcome_source* query = nullptr, request_observers observers = {},
         const trace::tracer* tracer = nullptr);
  ~server();  ///< as drain() with no time left, then wait()

  /// Binds the listening socket and starts the I/O threads. Port 0 selects a free port: see
  /// local(). `passed`: sockets that listen already, which it takes over and uses instead.
  [[nodiscard]] result<void> start(const std::vector<int>& passed = {});
  [[nodiscard]] endpoint local() const;
  /// What guarding would have done on routes that only observe.
  [[nodiscard]] const observing::observation& observed() const;
  [[nodiscard]] onceguard::engine& engine() noexcept;
  /// What waits for the store shares it.
  [[nodiscard]] byte_budget& budget() noexcept;
  /// Another front door uses the engine: a drain ends no sooner than `ended` says so, or its time
  /// is over. Before start().
  void end_after(std::function<bool()> ended);
  [[nodiscard]] gateway_load load() const noexcept;
  /// The audit log, from the end of start() on; null before.
  [[nodiscard]] audit_log* audit() const noexcept;
  /// New requests use this routing; running requests continue with theirs.
  void reload(routing_params routing);
  /// Closes the listening sockets, and takes the connections that wait in their queues unless
  /// another process does. A connection without a request is closed, but not before a request that
  /// may be on its way has had time to arrive: half a second since its last answer, or four fifths
  /// of `gateway_params::drain` if another process serves meanwhile. Running requests may finish,
  /// at most for all of it; the leases that are left then are abandoned. Where another process
  /// serves and the store is away at the end, what the store has yet to take is waited for.
  void drain(listening_by next = listening_by::nobody);
  /// Nothing is waited for beyond `gateway_params::drain`.
  void forbid_overtime() noexcept;
  /// The numbers of the listening sockets, for a successor; from start() to drain().
  [[nodiscard]] const std::vector<int>& sockets() const noexcept;
  /// The threads that have not gone on since the last call; empty: all have. By one thread, every
  /// few seconds, after start().
  [[nodiscard]] std::string stuck();
  /// Blocks until drained.
  void wait();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace onceguard::gateway
