// What sets requests with a key of their caller and deliveries of webhooks apart.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "gateway/request_work.hpp"
#include "http/admission.hpp"
#include "http/request_flow.hpp"

namespace onceguard::gateway {

/// What a request with its body is. refused, late: `refusal` says why.
struct identified {
  http::step_end end = http::step_end::guarded;
  http::refusal refusal{};
  std::string challenge{};  ///< challenged: what its sender expects back
};

/// Stateless; the same for all requests of a route.
class request_kind {
 public:
  request_kind() = default;
  request_kind(const request_kind&) = delete;
  request_kind& operator=(const request_kind&) = delete;
  virtual ~request_kind() = default;

  /// What the head says; `request` is made of it.
  virtual boost::asio::awaitable<http::admission> admit(session& client,
                                                        const http::request& request) const = 0;
  /// What the body says: completes what was admitted.
  [[nodiscard]] virtual identified identify(work& job) const = 0;
  virtual boost::asio::awaitable<settle_terms> run(work& job, lease_handle* lease) const {
    return run_at_upstream(job, lease);
  }
  /// Who does the work, for logs and metrics.
  [[nodiscard]] virtual std::string_view worker(const route& rule) const noexcept {
    return rule.upstream->name;
  }
};

[[nodiscard]] const request_kind& kind_of(const route& rule) noexcept;

}  // namespace onceguard::gateway
