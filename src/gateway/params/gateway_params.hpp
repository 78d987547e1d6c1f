// The parameters of a gateway. The configuration fills them in and has checked them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/engine.hpp>
#include <onceguard/http_message.hpp>

#include "base/address.hpp"
#include "base/certificate.hpp"

namespace onceguard::webhook {
class verifier;
}  // namespace onceguard::webhook

namespace onceguard::gateway {

using base::endpoint;

/// How a guarded request without a body goes to an upstream.
enum class empty_framing : std::uint8_t {
  chunked,  ///< no proxy on the way sends it twice
  length,   ///< Content-Length: 0
};

struct upstream_params {
  std::string name;
  endpoint address;
  std::string base_path;   ///< path of the URL without a final slash; prefix of each target
  std::string identity{};  ///< the upstream's name in fingerprints
  empty_framing empty_body = empty_framing::chunked;
  friend bool operator==(const upstream_params&, const upstream_params&) = default;
};

/// A rule.
struct route_params : http::route {
  std::size_t upstream = 0;  ///< index into routing_params::upstreams
  /// Its requests are deliveries, which this checks; null: they are not.
  std::shared_ptr<const webhook::verifier> webhook{};
  /// The URL of a queue: the deliveries are published there, and answered as their sender expects.
  /// Empty: they go to the upstream.
  std::string webhook_queue{};
};

/// The parameters that SIGHUP may change while the gateway runs.
struct routing_params {
  std::vector<upstream_params> upstreams;
  std::vector<route_params> routes;  ///< includes the default route, with path "/" and any host

  /// As the routes are called in the log and in the metrics.
  [[nodiscard]] std::vector<std::string> route_names() const {
    std::vector<std::string> out;
    for (const auto& one : routes) out.push_back(one.host + one.path);
    return out;
  }
};

using onceguard::after_loss_rule;

struct gateway_params {
  endpoint listen{"127.0.0.1", 8080};
  unsigned threads = 0;  ///< 0: one per core
  std::size_t max_connections = 10'000;
  std::size_t max_buffered = 256u << 20;  ///< in bytes, for bodies, answers and waiting settles
  std::size_t replay_cache = 16u << 20;   ///< in bytes; 0: no cache
  milliseconds settle_wait{10'000};
  milliseconds drain{25'000};
  milliseconds drain_delay{0};  ///< between the signal to end and the drain
  std::string problem_base = "urn:onceguard:problem:";
  std::string state_dir;                     ///< empty: no witness
  std::string audit_log;                     ///< a file; empty: events of the log
  std::vector<std::string> trusted_proxies;  ///< addresses or CIDR blocks
  std::size_t max_header_bytes = 64u << 10;
  std::size_t max_header_count = 100;
  std::size_t max_hops = 8;  ///< gateways of Onceguard that a request may have come through
  milliseconds header_timeout{10'000};  ///< from the first to the last byte of a head
  milliseconds body_timeout{30'000};    ///< between two pieces of a request's body
  milliseconds idle_timeout{60'000};  ///< for a kept-alive or tunnelled connection without traffic
  milliseconds connect_timeout{5'000};  ///< for connecting to the upstream
  milliseconds write_timeout{30'000};   ///< for a peer that does not receive the data
  std::size_t min_client_rate = 1024;   ///< in bytes a second, on average; 0: no limit
  /// Requests that wait with on_busy = "wait"; more requests get 409.
  std::size_t max_waiters = 10'000;

  milliseconds store_timeout{2'000};
  milliseconds sweep_interval{60'000};
  after_loss_rule after_loss = after_loss_rule::refuse;
  // TLS of the listener: PEM files.
  std::string tls_certificate;  ///< empty: plain HTTP
  std::string tls_key;          ///< of the certificate
  std::string tls_client_ca;    ///< empty: no client's certificate is asked for
  bool tls_client_required = true;
  base::peer_name tls_client_name = base::peer_name::certificate;

  milliseconds reconcile_interval{0};  ///< between rounds; 0: no scheduled rounds
};

}  // namespace onceguard::gateway
