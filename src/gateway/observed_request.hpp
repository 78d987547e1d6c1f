// A request of a route that only observes: forwarded as it comes, and compared on the side.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <onceguard/byte_budget.hpp>

#include "base/field.hpp"
#include "gateway/session.hpp"
#include "http/admission.hpp"
#include "observing/observation.hpp"

namespace onceguard::gateway {

/// Whether the request is observed: the route observes, and would guard the request or refuse it
/// for its key. What a request without a key gets refused for is refused in any case.
[[nodiscard]] bool observes(const route_policy& policy, const http::admission& admitted,
                            std::span<const base::field> fields);

/// Keeps a copy of the body, up to `max_request_body`, until the fingerprint is made.
class observed_request {
 public:
  observed_request(session& session, http::admission admitted, const http::request& request,
                   http::scope_memo& memo);

  // How the request goes, in this order.
  void take(std::string_view piece);
  void whole();
  /// Until there is an answer, nobody knows whether the request takes effect.
  void begin_sending() noexcept { end_ = {settle_kind::abandon, false}; }
  void answered(const http1::head& answer);
  /// The answer that had begun has no end.
  void broke_off();
  /// At the end, whatever has happened.
  void count();

 private:
  void refuse(http::problem problem);
  void compare_tries();
  void settle();
  void drop_body();

  session& session_;
  const http::admission admitted_;
  const route_policy& policy_;
  std::optional<http::scope_match> scope_;  // of a request without a key
  std::string body_;
  byte_reservation body_room_;
  bool keeps_body_ = true;
  observing::sighting seen_;
  observing::ending end_;
  bool settled_ = false;
};

}  // namespace onceguard::gateway
