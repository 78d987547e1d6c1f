// The latest requests and events of the log: for `onceguard tail` and the timeline of a key.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <onceguard/key.hpp>

#include "admin/outcome_history.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "http/request_report.hpp"

namespace onceguard::admin {

/// A text of at most that many bytes; what is longer loses its end.
template <std::size_t Most>
class short_text {
 public:
  static constexpr std::size_t most = Most;

  void set(std::string_view text) noexcept {
    size_ = static_cast<std::uint16_t>(text.copy(bytes_.data(), bytes_.size()));
  }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  std::array<char, Most> bytes_;
  std::uint16_t size_ = 0;
};

/// What metrics and queries call the route of a request that has none.
inline constexpr std::string_view no_route = "(none)";

/// What is kept of a request's report.
struct recent_request {
  std::uint64_t number = 0;  ///< with each request one more, from 1; 0: there is none here
  std::int64_t at_wall = 0;  ///< its end, in milliseconds since 1970
  http::request_outcome outcome = http::request_outcome::refused;
  http::unguarded_reason why_unguarded = http::unguarded_reason::none;
  unknown_reason unknown_why = unknown_reason::none;
  std::string_view problem{};  ///< constant texts, as `settled`
  std::string_view settled{};
  unsigned status = 0;
  unsigned upstream_status = 0;
  std::uint64_t attempt = 0;
  unsigned renewals = 0;
  std::chrono::microseconds total{0};
  std::chrono::microseconds claim{0};
  std::chrono::microseconds upstream_time{0};
  std::chrono::microseconds settle{0};
  std::chrono::microseconds upstream_begin{0};
  std::optional<record_id> record{};
  short_text<key_size_max> key;
  short_text<16> method;
  short_text<128> route;
  short_text<192> path;
  short_text<48> client;
  short_text<32> trace;
};

/// A line of the log, but those of requests.
struct recent_event {
  std::uint64_t number = 0;
  std::int64_t at_wall = 0;
  std::string_view level{};
  std::string_view name{};
  std::vector<std::pair<std::string, std::variant<std::string, std::int64_t, bool>>> fields{};
};

/// The latest of both, numbered in one row from 1. Thread-safe. A request is copied into a slot
/// that exists already: no memory is taken, and nobody is waited for; a request whose slot is
/// being read just then is lost. Lines of the log go on to where they belong in any case.
class recent_activity final : public http::request_observer, public base::log_sink {
 public:
  static constexpr std::size_t requests_max = 2'048;
  static constexpr std::size_t events_max = 256;
  static constexpr std::size_t changes_max = 256;
  /// Of events that may come with each request of an outage, so many a second are kept.
  static constexpr std::size_t recurring_max = 20;

  explicit recent_activity(base::log_sink& lines) : lines_(lines) {}
  /// From now on it keeps something. Before requests come.
  void begin();

  void finished(const http::request_report& report) noexcept override;
  void write(const base::event_info& event, base::log_level level,
             std::span<const base::log_field> fields) override;
  [[nodiscard]] bool write_surely(const base::event_info& event, base::log_level level,
                                  std::span<const base::log_field> fields) override;

  /// The number of the latest.
  [[nodiscard]] std::uint64_t latest() const noexcept {
    return taken_.load(std::memory_order_acquire);
  }
  /// The request with that number; none: it was replaced, lost, is an event's, or is not there yet.
  [[nodiscard]] std::optional<recent_request> find(std::uint64_t number) const;
  /// What no record says of its requests, for longer than find() knows them.
  [[nodiscard]] const outcome_history& outcomes() const noexcept { return outcomes_; }
  /// Events with a higher number, the oldest first.
  [[nodiscard]] std::vector<recent_event> events_after(std::uint64_t number) const;
  /// Events since then that say something of the whole process, as reloads and outages do, the
  /// newest first. What comes with many requests takes none of their room.
  [[nodiscard]] std::vector<recent_event> changes_since(std::int64_t wall) const;
  /// Numbers of another beginning are of another process.
  [[nodiscard]] std::int64_t begun_at_wall() const noexcept { return begun_at_wall_; }

 private:
  struct slot {
    mutable std::mutex mutex;
    recent_request kept;  // under the mutex
  };

  [[nodiscard]] std::uint64_t next() noexcept {
    return taken_.fetch_add(1, std::memory_order_acq_rel) + 1;
  }
  void keep(const base::event_info& event, base::log_level level,
            std::span<const base::log_field> fields);
  [[nodiscard]] bool passes(const base::event_info& event, std::int64_t now_wall);

  base::log_sink& lines_;
  const std::int64_t begun_at_wall_ = base::system_clock().wall_ms();
  std::unique_ptr<slot[]> slots_;
  outcome_history outcomes_;
  std::atomic<bool> keeps_{false};
  std::atomic<std::uint64_t> taken_{0};
  mutable std::mutex mutex_;
  std::deque<recent_event> events_;   // under the mutex
  std::deque<recent_event> changes_;  // under the mutex
  std::int64_t second_ = 0;           // under the mutex
  std::size_t recurring_ = 0;         // under the mutex: kept in that second
};

}  // namespace onceguard::admin
