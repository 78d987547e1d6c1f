// The access log: a line of the log for each request.
#pragma once
#include <cstdint>

#include "http/request_report.hpp"

namespace onceguard::http {

enum class access_log_rule : std::uint8_t {
  guarded,  ///< all but those that are forwarded without a record as a rule: no key, or a method
            ///< that the route does not guard
  all,
  off,
};

/// Logs the event `request`, with the fields that apply, in the order of the event's table.
class access_log final : public request_observer {
 public:
  explicit access_log(access_log_rule rule) noexcept : rule_(rule) {}
  void finished(const request_report& report) noexcept override;

 private:
  const access_log_rule rule_;
};

}  // namespace onceguard::http
