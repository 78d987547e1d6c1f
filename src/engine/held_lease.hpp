// A lease while its work runs: renewed at each third of its length, and asked before anything
// is sent.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "base/timer_wheel.hpp"

namespace onceguard {

/// Belongs to the thread of its io_context, but for give_up(), which any may call.
class held_lease : public base::deadline, public std::enable_shared_from_this<held_lease> {
 public:
  using time_point = base::boot_clock::time_point;

  held_lease(boost::asio::io_context& io, store& records, record_id id, lease got,
             milliseconds length, milliseconds store_timeout, time_point claimed);

  [[nodiscard]] const record_id& id() const noexcept { return id_; }
  [[nodiscard]] const onceguard::lease& lease() const noexcept { return lease_; }
  /// "OG1-" and record id, token and nonce in hex: what an application completes with.
  [[nodiscard]] std::string text() const;

  /// To be called just before anything leaves this process. False: less than a third of the lease
  /// is left, by this process's own clock since before the claim (or its last renewal) was sent, as
  /// it may have been stopped for minutes; or the lease was given up. Then nothing may be sent.
  [[nodiscard]] bool begin_sending() noexcept;
  /// To be called before each further piece, the last above all. False: the lease ran out by this
  /// process's own clock, was superseded or given up, and another may run by now: what was sent
  /// must stay half a request.
  [[nodiscard]] bool may_go_on() const noexcept;
  /// From now on nothing may be sent. True: nothing was.
  bool give_up() noexcept;
  [[nodiscard]] bool superseded() const noexcept { return superseded_; }

  void keep_renewing();
  void stop_renewing() noexcept {
    stopped_ = true;
    disarm();
  }
  /// From asking to doing, with the same token. False: superseded.
  boost::asio::awaitable<result<bool>> dispatch();

 private:
  void expired() override;
  static boost::asio::awaitable<void> renew(std::shared_ptr<held_lease> self);
  boost::asio::awaitable<result<bool>> extend(bool dispatch);

  boost::asio::io_context& io_;
  store& store_;
  const record_id id_;
  onceguard::lease lease_;
  const milliseconds length_;
  const milliseconds store_timeout_;
  time_point counted_from_;
  enum class stage : std::uint8_t { nothing_sent, sending, given_up };
  std::atomic<stage> stage_{stage::nothing_sent};
  bool superseded_ = false;
  bool renewing_ = false;
  bool stopped_ = false;
};

}  // namespace onceguard
