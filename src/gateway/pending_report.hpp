// The report of the request that a session serves now.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <vector>

#include <onceguard/key.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "http/request_report.hpp"

namespace onceguard::gateway {

using request_observers = std::vector<http::request_observer*>;

/// Filled in while the request is served, and handed to the observers once. Without observers, no
/// clock is read. Belongs to one I/O thread; the observers must outlive it.
class pending_report : public http::request_report {
 public:
  using time_point = base::boot_clock::time_point;

  explicit pending_report(const request_observers& observers) noexcept : observers_(observers) {}
  pending_report(const pending_report&) = delete;
  pending_report& operator=(const pending_report&) = delete;

  /// The next request begins. Its client is at this address, which must stay valid.
  void begin(std::string_view client_address) noexcept {
    static_cast<request_report&>(*this) = request_report();
    client = client_address;
    begun_ = now();
    sent_ = false;
    open_ = true;
  }
  /// Whose operation the request is.
  void set_record(const record_id& id, const digest& of_scope, std::string_view of_key) noexcept {
    id_ = id;
    const auto size = std::min(of_key.size(), key_.size());
    std::copy_n(of_key.data(), size, key_.data());
    key = std::string_view(key_.data(), size);
    scope_digest_ = of_scope;
    record = &id_;
    scope = &scope_digest_;
  }

  /// The beginning of a step, for since().
  [[nodiscard]] time_point now() const noexcept {
    return observers_.empty() ? time_point() : base::boot_now();
  }
  /// The same; `member` gets the time from the request's beginning.
  [[nodiscard]] time_point begin_step(std::chrono::microseconds request_report::*member) noexcept {
    const auto begin = now();
    this->*member = std::chrono::duration_cast<std::chrono::microseconds>(begin - begun_);
    return begin;
  }
  [[nodiscard]] std::chrono::microseconds since(time_point begin) const noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(now() - begin);
  }

  /// From now on, the work of the lease may take effect.
  void begin_sending() noexcept { sent_ = true; }
  [[nodiscard]] bool sent() const noexcept { return sent_; }
  /// The gateway ends, and has given up the lease that the request may hold. Finishes the report.
  void break_off() noexcept {
    if (open_ && attempt != 0 && settle.count() == 0 && status == 0) end_run();
    finish();
  }

  /// Hands the report over, while its views are still valid. Further calls do nothing.
  void finish() noexcept {
    if (!open_) return;
    open_ = false;
    total = since(begun_);
    for (auto* observer : observers_) observer->finished(*this);
  }

 private:
  void end_run() noexcept {
    // Without an upstream, only the application was asked.
    outcome = upstream.empty() ? http::request_outcome::unknown : http::request_outcome::ran;
    // A settle that is under way may still be recorded.
    if (upstream.empty() || settle_begin.count() != 0) return;
    settled = sent_ ? settle_kind::abandon : settle_kind::release;
    if (sent_) unknown_why = unknown_reason::abandoned;
  }

  const request_observers& observers_;
  time_point begun_{};
  bool open_ = false;
  bool sent_ = false;
  record_id id_{};
  digest scope_digest_{};
  std::array<char, key_size_max> key_{};
};

}  // namespace onceguard::gateway
