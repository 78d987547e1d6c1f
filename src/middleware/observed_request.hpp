// A request of a route that only observes: its handler runs as it would without Onceguard, and what
// guarding would have done is counted.
#pragma once
#include <optional>

#include "http/admission.hpp"
#include "middleware/middleware_state.hpp"
#include "observing/observation.hpp"

namespace onceguard::http {
inline namespace v1 {

/// Whether the route would guard the request, or refuse it for its key or scope.
[[nodiscard]] bool observes(const route_policy& policy, const admission& admitted) noexcept;

/// Counts the request when it is destroyed. The middleware must outlive it.
class observed_request {
 public:
  /// `scope` is that of a request without a key; empty: there is none.
  observed_request(const middleware_state& owner, const ready_route& rule,
                   const admission& admitted, const std::optional<scope_match>& scope,
                   const request& arrived);
  observed_request(const observed_request&) = delete;
  observed_request& operator=(const observed_request&) = delete;
  ~observed_request();

  /// The handler has answered. Before the client has the answer: a repeat may follow at once.
  void answered(const answer_view& made);
  /// How its exception would have settled the record.
  void failed(const settle_terms& terms);

 private:
  void compare(const admission& admitted, const std::optional<scope_match>& scope,
               const request& arrived);
  void refuse(problem which);
  void settle(observing::ending end);

  const middleware_state& owner_;
  const ready_route& rule_;
  std::optional<record_id> record_;
  observing::sighting seen_;
  observing::ending end_;
  bool settled_ = false;
};

}  // namespace v1
}  // namespace onceguard::http
