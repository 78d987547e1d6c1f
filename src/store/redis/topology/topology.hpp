// The servers that are masters, and which of them has which part of the store.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "base/timer_wheel.hpp"
#include "store/redis/commands/keyspace.hpp"
#include "store/redis/redis_params.hpp"
#include "store/redis/transport/connection.hpp"

namespace onceguard::redis {

struct layout {
  struct master {
    redis::endpoint endpoint;
    std::string id;  ///< in a cluster
  };
  std::vector<master> masters;                    ///< those that have parts
  std::vector<std::optional<std::size_t>> owner;  ///< of each part, one of the masters
  std::string ids;  ///< of all that are masters now, also of those without a part, by commas
};

class topology_events {
 public:
  /// A layout was found, which may be the same as before.
  virtual void on_layout(const layout& found) = 0;
  /// No server could report the layout.
  virtual void on_no_layout(const failure& why) = 0;

 protected:
  ~topology_events() = default;
};

/// Polls one server for what it knows of the others, and keeps its connection from one question to
/// the next. Belongs to the thread of its io_context; must not be destroyed while it is busy.
class topology_poller final : private base::deadline {
 public:
  topology_poller(const connection_context& context, endpoint endpoint, const credentials& as,
                  milliseconds patience)
      : context_(context), endpoint_(std::move(endpoint)), as_(as), patience_(patience) {}

  [[nodiscard]] bool busy() const noexcept { return busy_; }
  /// The replies in the order of the commands. Failures are thrown. Only while not busy.
  [[nodiscard]] boost::asio::awaitable<std::vector<reply_ptr>> ask(
      std::vector<std::string> commands);
  /// Ends the question that is under way.
  void close();

 private:
  void expired() override { close(); }
  [[nodiscard]] boost::asio::awaitable<void> connect();

  const connection_context context_;
  const endpoint endpoint_;
  const credentials& as_;
  const milliseconds patience_;
  std::unique_ptr<connection> connection_;
  bool busy_ = false;
  bool closed_ = false;
};

/// Finds out the layout, and polls it from time to time. Belongs to the thread of its io_context.
class topology {
 public:
  using steady_time = base::boot_clock::time_point;

  /// `at_least`: between two polls.
  topology(const connection_context& context, const redis_params& params, topology_events& events,
           std::chrono::milliseconds at_least)
      : context_(context),
        params_(params),
        events_(events),
        at_least_(at_least),
        timer_(context.context) {}
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;
  virtual ~topology() = default;

  virtual void begin() = 0;
  /// The layout may have changed: it is polled soon.
  void distrust();
  /// A connection that was ready before this time leads to a server that is still a master.
  [[nodiscard]] virtual steady_time vouched() const noexcept { return steady_time::max(); }
  /// Ends the running operations. The io_context must run until they have ended.
  void close();

 protected:
  /// Whether a poll is under way.
  [[nodiscard]] virtual bool polling() const noexcept = 0;
  /// The pause is over.
  virtual void go_on() = 0;
  void wait(std::chrono::milliseconds pause);
  /// Until the next poll, if this one ends now.
  [[nodiscard]] std::chrono::milliseconds rest(std::chrono::milliseconds longest) const {
    return distrusted_ ? at_least_ : longest;
  }

  const connection_context context_;
  const redis_params& params_;
  topology_events& events_;
  const std::chrono::milliseconds at_least_;
  std::map<endpoint, topology_poller> pollers_;
  boost::asio::steady_timer timer_;
  steady_time begun_{};
  bool distrusted_ = false;
  bool closed_ = false;
};

/// All arguments must outlive the topology.
[[nodiscard]] std::unique_ptr<topology> make_topology(const connection_context& context,
                                                      const keyspace& names,
                                                      const redis_params& params,
                                                      topology_events& events);

}  // namespace onceguard::redis
