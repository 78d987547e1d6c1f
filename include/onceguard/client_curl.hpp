// The client over libcurl. Link the component `client_curl`; curl itself is not included here.
#pragma once
#include <memory>

#include <onceguard/client.hpp>

namespace onceguard::client {
inline namespace v1 {

/// Keeps its connections alive between requests. Certificates are verified for the URL's host. The
/// proxy variables of the environment apply (https_proxy, no_proxy).
class curl_transport final : public transport {
 public:
  /// Throws std::runtime_error if libcurl can't be initialised.
  explicit curl_transport(transport_params params = {});
  ~curl_transport() override;

  [[nodiscard]] attempt send(const request& sent, milliseconds timeout,
                             const std::stop_token& stop) override;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace v1
}  // namespace onceguard::client
