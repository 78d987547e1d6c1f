// The report of the request that a session serves now.
#pragma once
#include <chrono>
#include <vector>

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
    open_ = true;
  }
  /// Whose operation the request is.
  void set_record(const record_id& id, const digest& of_scope) noexcept {
    id_ = id;
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

  /// Hands the report over, while its views are still valid. Further calls do nothing.
  void finish() noexcept {
    if (!open_) return;
    open_ = false;
    total = since(begun_);
    for (auto* observer : observers_) observer->finished(*this);
  }

 private:
  const request_observers& observers_;
  time_point begun_{};
  bool open_ = false;
  record_id id_{};
  digest scope_digest_{};
};

}  // namespace onceguard::gateway
