// The simulated world: machines with event loops, messages between them, and one time for all. One
// thread runs it, one handler after the other, in an order that the seed decides.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "disturbance.hpp"
#include "history.hpp"
#include "virtual_kernel.hpp"

namespace onceguard::sim {

/// A machine of the world. Its event loop exists while it is up.
class machine {
 public:
  explicit machine(std::string called) : name(std::move(called)) {}

  const std::string name;
  machine_clock clock;
  unsigned incarnation = 0;       ///< grows with each crash
  std::uint64_t steps = 0;        ///< handlers that its loop has run, over all incarnations
  nanoseconds stopped_until = 0;  ///< like a process that was stopped by a signal
  bool up = true;
  std::size_t index = 0;
  boost::asio::io_context* loop = nullptr;
  std::unique_ptr<boost::asio::io_context> made_loop;  ///< of a machine that is no thread
};

class world {
 public:
  world(std::uint64_t seed, const plan& disturbances, history& events);
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  [[nodiscard]] nanoseconds now() const noexcept { return kernel_.now(); }
  [[nodiscard]] history& events() noexcept { return events_; }
  [[nodiscard]] number_stream& random() noexcept { return random_; }

  machine& add(std::string name);
  [[nodiscard]] machine& machine_at(std::size_t index) { return *machines_[index]; }
  [[nodiscard]] std::size_t machines() const noexcept { return machines_.size(); }
  /// Another thread of the processes on `host`, with a loop of its own: it has the host's clocks,
  /// and stops with it. After all machines were added.
  machine& add_thread(machine& host);
  void start_thread(machine& thread, boost::asio::io_context& loop);
  /// As a signal does, for so long.
  void stop_machine(machine& where, milliseconds length);
  /// Makes its loop. `run` then acts on it.
  void boot(machine& booted);
  /// Ends its loop. What its owner keeps on it must be gone or be stopped.
  void power_off(machine& ended);
  /// The code that `act` runs sees the machine's clocks.
  template <class Act>
  void on(machine& where, Act&& act) {
    kernel_.enter(where.clock);
    std::forward<Act>(act)();
    kernel_.enter(nowhere_);
  }

  /// Back on a machine from one of its threads.
  void enter(machine& where) noexcept { kernel_.enter(where.clock); }

  /// Calls `act` after so long.
  void after(nanoseconds wait, std::function<void()> act);
  /// The same on a machine, unless it has crashed meanwhile; while it is stopped, it waits.
  void after_on(machine& where, nanoseconds wait, std::function<void()> act);
  /// Calls `arrive` at the other machine when the message gets there: after some milliseconds,
  /// late, twice, or never. `once`: never twice.
  void send(machine& sender, machine& receiver, message_kind kind, std::function<void()> arrive,
            bool once = false);

  /// What the owners of the machines do at a crash, and at whatever else is theirs.
  std::function<void(const disturbance&)> on_disturbance;

  /// Runs everything that happens up to this time.
  void run_until(nanoseconds time);
  [[nodiscard]] std::uint64_t handlers() const noexcept { return handlers_; }
  /// From now on nothing is disturbed any more, and nobody is stopped or cut off.
  void calm_down();
  [[nodiscard]] bool calm() const noexcept { return calm_; }
  /// Whether a disturbance concerns the next thing of this kind; it then has come.
  [[nodiscard]] const disturbance* next_of(disturbance_kind kind);
  /// The same for the next call of a store, which may also meet an outage.
  [[nodiscard]] const disturbance* next_fault_of_call(call_kind kind);
  /// Whether what `a` sends does not get to `b` now.
  [[nodiscard]] bool cut(const machine& a, const machine& b) const;

 private:
  struct event {
    nanoseconds time;
    std::uint64_t number;  // of two at one time, the first comes first
    machine* where;        // null: no machine's
    unsigned incarnation;
    std::function<void()> act;
  };
  struct later {
    bool operator()(const event& a, const event& b) const noexcept {
      return a.time != b.time ? a.time > b.time : a.number > b.number;
    }
  };

  void run(event next);
  /// `counted`: a message came, and its steps count for disturbances.
  void run_loop(machine& where, bool counted);
  /// And what it has handed to the other threads of its machine.
  void run_with_threads(machine& where, bool counted);
  template <class Act>
  void on_each_thread(std::size_t index, Act&& act) {
    for (const auto& each : machines_) {
      if (each->index == index) act(*each);
    }
  }
  [[nodiscard]] nanoseconds due(const machine& where) const noexcept;
  void disturb_at_step(machine& where);
  [[nodiscard]] const disturbance* fault_of_outage();
  void plan_timed_disturbances();
  void begin(const disturbance& each);
  void deliver(machine& receiver, nanoseconds wait, const std::function<void()>& arrive);

  virtual_kernel kernel_;
  machine_clock nowhere_;
  number_stream random_;
  const plan& disturbances_;
  history& events_;
  std::vector<std::unique_ptr<machine>> machines_;
  std::priority_queue<event, std::vector<event>, later> queue_;
  std::uint64_t numbered_ = 0;
  std::uint64_t handlers_ = 0;
  std::array<std::uint64_t, message_kinds + disturbance_kinds> counted_{};
  std::array<std::uint64_t, call_kinds> calls_{};
  std::map<std::pair<std::size_t, std::size_t>, nanoseconds> cut_until_;   // by their indexes
  std::map<std::pair<std::size_t, std::size_t>, nanoseconds> mute_until_;  // sender, receiver
  disturbance outage_;
  nanoseconds outage_until_ = 0;
  bool calm_ = false;
};

}  // namespace onceguard::sim
