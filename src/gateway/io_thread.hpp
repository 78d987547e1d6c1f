// The state that the sessions of one I/O thread share (no other thread uses it), and the state that
// all I/O threads share.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/byte_budget.hpp>
#include <onceguard/engine.hpp>

#include "audit/audit_log.hpp"
#include "base/clock.hpp"
#include "gateway/buffers.hpp"
#include "gateway/delivery_queue.hpp"
#include "gateway/jwt_thread.hpp"
#include "gateway/params/gateway_params.hpp"
#include "gateway/pending_report.hpp"
#include "gateway/receiving_clients.hpp"
#include "gateway/routing_table.hpp"
#include "gateway/shared_answers.hpp"
#include "gateway/upstream_pool.hpp"
#include "http/forwarded_fields.hpp"
#include "observing/observation.hpp"
#include "tls/listener_tls.hpp"
#include "trace/tracer.hpp"

namespace onceguard::gateway {

class session;

/// The state that all I/O threads share. Immutable except for the atomics and the thread-safe
/// members.
struct gateway_shared {
  gateway_shared(gateway_params p, const engine_params& for_engine, store& records,
                 request_observers to_tell, const trace::tracer* spans);

  const gateway_params params;
  const request_observers observers;
  const trace::tracer* const tracer;  ///< null: no traces are sent
  /// This process in the field CDN-Loop.
  const std::string loop_mark;
  std::vector<http::address_block> trusted;
  byte_budget budget;
  shared_answers replays;
  receiving_clients readers;
  host_lookup names;
  suspect_upstreams suspects;
  delivery_queues queues;
  onceguard::tls::listener_tls tls;
  onceguard::engine engine;
  std::unique_ptr<audit_log> audit;             ///< from the start of the server on
  std::atomic<audit_log*> open_audit{nullptr};  ///< the same, for other threads
  observing::observation observed;
  std::atomic<bool> draining{false};
  /// While draining, connections without a request are read on until then, if not for a moment
  /// only.
  std::atomic<base::boot_clock::time_point> idle_end{};
  // While draining, a request that never arrives completely must not delay the end.
  /// Unfinished guarded requests are not read any more.
  std::atomic<bool> requests_end{false};
  /// Unfinished requests, and answers that have no end, are not forwarded any more.
  std::atomic<bool> uploads_end{false};
  std::atomic<std::size_t> connections{0};
  std::atomic<std::uint64_t> connections_refused{0};

  /// Returns true once for each text.
  [[nodiscard]] bool first_hint(const std::string& about) {
    const std::lock_guard lock(hints_mutex_);
    return hints_.insert(about).second;
  }

 private:
  std::mutex hints_mutex_;
  std::unordered_set<std::string> hints_;
};

struct io_thread {
  io_thread(gateway_shared& s, routing_ptr table)
      : shared(s), routing(std::move(table)), pool(io, s.params, s.names, s.suspects) {}
  ~io_thread() {
    tokens.reset();
    // The waiting coroutines are destroyed with the context, and use the members below until then.
    pool.clear();
    context_.reset();
  }
  io_thread(const io_thread&) = delete;
  io_thread& operator=(const io_thread&) = delete;

 private:
  std::unique_ptr<boost::asio::io_context> context_ = std::make_unique<boost::asio::io_context>(1);

 public:
  gateway_shared& shared;
  boost::asio::io_context& io = *context_;
  routing_ptr routing;
  upstream_pool pool;
  std::unique_ptr<jwt_thread> tokens = std::make_unique<jwt_thread>();
  std::unordered_set<session*> sessions;
  /// Routes whose hint about an anonymous scope this thread need not check again.
  std::unordered_set<const route*> scope_hinted;
};

/// Reads a bounded number of the store's oldest records. Logs how many are under a scope that their
/// route no longer uses (`scope-changed`), and how many were made for an upstream that had another
/// identity in `before` (`upstream-renamed`). A retry of such an operation runs again, or is
/// refused. `before` is null at the start. Ends early when the routing changes.
boost::asio::awaitable<void> report_stranded(io_thread& thread, routing_ptr before);

}  // namespace onceguard::gateway
