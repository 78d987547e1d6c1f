// One server of a store, and the connection to it: opened again after each failure for as long as
// the server is needed. Belongs to the pool's thread.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/timer_wheel.hpp"
#include "store/redis/pool/pipeline.hpp"

namespace onceguard::redis {

class server final : private base::deadline {
 public:
  server(const server_context& context, endpoint endpoint)
      : context_(context), endpoint_(std::move(endpoint)) {}

  [[nodiscard]] const endpoint& at() const noexcept { return endpoint_; }
  [[nodiscard]] server_pin pin() const { return {endpoint_, life_}; }
  [[nodiscard]] bool durable() const noexcept { return durable_; }
  [[nodiscard]] const std::optional<failure>& last_failure() const noexcept { return why_; }
  [[nodiscard]] std::optional<steady_time> out_since() const noexcept { return out_since_; }
  [[nodiscard]] bool ready() const noexcept { return phase_ == phase::ready; }
  /// Whether requests may be sent: the connection was ready before `vouched`.
  [[nodiscard]] bool usable(steady_time vouched) const noexcept {
    return ready() && ready_since_ <= vouched;
  }

  /// Sets the parts that it has now, in order, and greets the new ones; `leads`: whether requests
  /// are to go there at all.
  void hold(bool leads, std::vector<std::size_t> parts);
  [[nodiscard]] bool leads() const noexcept { return leads_; }
  /// A part of the store has another name now.
  void rename(std::size_t part, const std::string& name);

  /// The requests that name this server.
  std::deque<entry>& named() noexcept { return named_; }
  void use(steady_time now) noexcept { used_at_ = now; }
  /// The number of requests that may be sent now, on a server that is ready.
  [[nodiscard]] std::size_t room() const noexcept { return pipeline_->room(); }
  /// flush() sends. `asking`: to the node that the slot moves to.
  void send(entry entry, bool asking) { pipeline_->send(std::move(entry), asking); }
  void flush();

  /// Opens the connection if that is due. Returns when it will be.
  steady_time open_when_due(steady_time now);
  /// Closes the connection. on_down() follows, never from within.
  void close(failure why);
  /// The server is not needed any more: its connection is closed once idle, and stays closed.
  void retire();
  [[nodiscard]] bool retired() const noexcept { return retired_; }
  void take_back() noexcept { retired_ = false; }
  /// It was in use lately.
  [[nodiscard]] bool lingers(steady_time now) const noexcept;
  [[nodiscard]] bool gone() const noexcept {
    return retired_ && named_.empty() && phase_ == phase::closed;
  }

 private:
  enum class phase : std::uint8_t {
    closed,   ///< nothing is open; open_when_due() → opening
    opening,  ///< connects, logs in, loads the scripts, greets; all done → ready; else → closing
    ready,    ///< takes requests; close() or a failure → closing
    closing,  ///< reading and writing end; both have → closed, and all requests are returned
  };

  void expired() override;
  void enter(phase next);
  [[nodiscard]] boost::asio::awaitable<void> live();
  [[nodiscard]] boost::asio::awaitable<void> write_all();
  void end_coroutine();
  void watch();

  // Setting up. Failures are thrown.
  [[nodiscard]] boost::asio::awaitable<void> set_up();

  const server_context& context_;
  const endpoint endpoint_;
  phase phase_ = phase::closed;
  std::unique_ptr<connection> connection_;
  std::unique_ptr<pipeline> pipeline_;  // once the server is known
  std::string writing_;
  int running_ = 0;             // coroutines
  std::optional<failure> why_;  // it was closed; none: it was ready since
  steady_time ready_since_{};
  std::optional<steady_time> out_since_ = base::boot_now();
  steady_time open_at_{};
  std::uint32_t failures_ = 0;  // to connect, or to be greeted, in a row
  std::string run_;             // of the server
  std::uint64_t life_ = 0;
  bool durable_ = false;
  bool leads_ = false;
  bool retired_ = false;
  std::vector<std::size_t> parts_;
  std::deque<entry> named_;
  steady_time used_at_{};
};

}  // namespace onceguard::redis
