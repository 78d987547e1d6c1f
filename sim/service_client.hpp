// A client of the decision service as docs/protocol.md wants it, after clients/python: its
// connections, its repeats, and the watch over the connections of its leases.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "wire.hpp"

namespace onceguard::sim {

struct call_reply {
  std::uint16_t status = 0;
  bool closes = false;  ///< the connection takes no further call
  nlohmann::json members;
  [[nodiscard]] bool draining() const;
};

/// A connection, and the call that is under way on it.
class service_stream {
 public:
  service_stream(boost::asio::io_context& loop, wire_ptr connected);
  ~service_stream() { wire_->close(); }
  service_stream(const service_stream&) = delete;
  service_stream& operator=(const service_stream&) = delete;

  [[nodiscard]] bool ended() const noexcept { return wire_->ended(); }
  /// None: it did not come, or the caller has left.
  boost::asio::awaitable<std::optional<call_reply>> exchange(std::string call,
                                                             base::boot_clock::time_point until,
                                                             std::stop_token left);

 private:
  wire_ptr wire_;
  boost::asio::steady_timer timer_;
};
using stream_ptr = std::shared_ptr<service_stream>;

/// The right to run an operation.
struct service_run {
  std::string operation;
  onceguard::lease under;
  milliseconds lease_time{0};
  stream_ptr stream;   ///< on which it was claimed
  stream_ptr rebound;  ///< and, after its end, the next one
  bool ends = false;   ///< it is being settled
};
using run_ptr = std::shared_ptr<service_run>;

struct claim_answer {
  std::string verdict;  ///< of the protocol, or "away", "late", "left"
  nlohmann::json members;
  run_ptr run;
};

struct settle_answer {
  std::string outcome;  ///< of the protocol, or "away"
  nlohmann::json members;
};

/// Of one process.
class service_client {
 public:
  /// `address`: whom the next connection goes to.
  service_client(world& around, machine& node, std::function<socket_host&()> address)
      : world_(around), node_(node), address_(std::move(address)) {}

  boost::asio::awaitable<claim_answer> claim(nlohmann::json message, milliseconds wait,
                                             std::stop_token left);
  boost::asio::awaitable<settle_answer> settle(run_ptr run, std::string kind,
                                               nlohmann::json members = nlohmann::json::object());
  /// Sends `dispatch`: whether the work may begin. If not, it is released.
  boost::asio::awaitable<bool> dispatch(run_ptr run);
  /// Before the event loop ends, which their timers need.
  void close_idle() { idle_.clear(); }

 private:
  struct exchanged {
    std::optional<call_reply> reply;
    stream_ptr stream;
  };
  struct clocks;
  boost::asio::awaitable<claim_answer> claim_once(nlohmann::json message, milliseconds wait,
                                                  std::stop_token left);
  boost::asio::awaitable<std::optional<bool>> holds(run_ptr run, clocks before);
  boost::asio::awaitable<exchanged> repeat(std::string path, nlohmann::json message, run_ptr run,
                                           milliseconds timeout, std::stop_token left);
  boost::asio::awaitable<void> take_back(nlohmann::json message);
  boost::asio::awaitable<void> watch(std::weak_ptr<service_run> watched);
  [[nodiscard]] stream_ptr connect(bool fresh);
  void give_back(const exchanged& over);
  void later(boost::asio::awaitable<void> work);

  world& world_;
  machine& node_;
  std::function<socket_host&()> address_;
  std::vector<stream_ptr> idle_;
};

}  // namespace onceguard::sim
