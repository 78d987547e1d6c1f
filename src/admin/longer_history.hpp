// GET /api/history: what the requests of days got, of which a Prometheus has kept the metrics.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/awaitable.hpp>

#include "admin/prometheus_history.hpp"
#include "admin/resource.hpp"
#include "base/address.hpp"
#include "base/clock.hpp"
#include "gateway/params/admin_params.hpp"
#include "http1/client/client.hpp"

namespace onceguard::admin {

/// Asks on a thread of its own, for one span after the other; what it got serves all who ask within
/// the next seconds. Thread-safe. Must outlive the listener.
class longer_history {
 public:
  /// From the first byte that is sent to the last that comes.
  static constexpr std::chrono::seconds timeout{5};
  static constexpr std::size_t answer_size_max = 4u << 20;

  /// Without `prometheus`, nothing is asked.
  explicit longer_history(const admin_params& params);
  ~longer_history();  ///< waits for what is being asked
  longer_history(const longer_history&) = delete;
  longer_history& operator=(const longer_history&) = delete;

  [[nodiscard]] bool known() const noexcept { return client_.has_value(); }
  boost::asio::awaitable<response> read(const history_span& span);

 private:
  struct answer {
    response given;
    base::boot_clock::time_point until;  ///< so long it serves
  };
  struct slot {
    bool wanted = false;  ///< and not being asked yet
    std::optional<answer> latest;
  };

  void run(const std::stop_token& stop);
  [[nodiscard]] answer ask(const history_span& span);
  [[nodiscard]] response failed(std::uint16_t status, std::string_view why) const;
  /// The answer that serves now; else it is wanted from now on.
  [[nodiscard]] std::optional<response> find(std::size_t span);

  const std::string name_;  ///< of the server, for people
  const std::string path_;
  const std::string labels_;
  std::optional<http1::client> client_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<slot, history_spans.size()> slots_;  // under the mutex
  std::jthread thread_;
};

/// `?span=6h`; 404 without a Prometheus.
[[nodiscard]] resources history_resources(longer_history& kept);

}  // namespace onceguard::admin
