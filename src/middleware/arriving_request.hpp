// The way of a request up to its handler, step by step. Which step follows which:
// http/request_flow.hpp.
#pragma once
#include <memory>
#include <optional>
#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <onceguard/http.hpp>

#include "http/request_flow.hpp"
#include "middleware/middleware_state.hpp"

namespace onceguard::http {
inline namespace v1 {

/// What a claim has that no request says.
struct arrival_terms {
  std::string_view service{};  ///< empty: that of the route. It must outlive the lease
  std::optional<claim_id> claim{};
  std::optional<milliseconds> wait{};
  bool into_started = false;
  bool body_omitted = false;  ///< it is longer than what its holder takes, and not here
};

/// The middleware and the request must outlive it.
class arriving_request {
 public:
  arriving_request(const middleware_state& owner, const request& given, arrival_terms terms = {})
      : owner_(owner), request_(given), terms_(terms) {}
  arriving_request(const arriving_request&) = delete;
  arriving_request& operator=(const arriving_request&) = delete;

  /// Takes the steps that need no store, up to `last`.
  void go_on_until(step last);
  [[nodiscard]] step at() const noexcept { return way_.at(); }
  /// What it comes to, if that is known without a store; empty: it is to be claimed.
  [[nodiscard]] std::optional<beginning> known();
  /// Takes the steps from the claim on. `caller` ends a wait for a running twin.
  boost::asio::awaitable<beginning> begin(std::stop_token caller);

  // After begin() or known().
  /// What the claim came to; of a refusal that came before it, nothing.
  [[nodiscard]] const onceguard::outcome& claimed() const noexcept { return outcome_; }

  // After identify.
  [[nodiscard]] const exchange::state& run() const noexcept { return *run_; }
  [[nodiscard]] const operation& wanted() const noexcept { return wanted_; }

 private:
  step_end admit();
  step_end receive();
  step_end identify();
  step_end recall();
  boost::asio::awaitable<step_end> claim();
  boost::asio::awaitable<step_end> probe();
  [[nodiscard]] std::string_view service() const;
  [[nodiscard]] bool may_run();
  boost::asio::awaitable<void> release();

  [[nodiscard]] exchange handler();
  [[nodiscard]] exchange observed_handler();
  [[nodiscard]] response refusal_answer();

  const middleware_state& owner_;
  flow way_;
  request request_;
  const arrival_terms terms_;
  client_origin origin_;
  const ready_route* rule_ = nullptr;
  admission admitted_;
  refusal refusal_;
  std::unique_ptr<exchange::state> run_;
  operation wanted_;
  outcome outcome_;
};

}  // namespace v1
}  // namespace onceguard::http
