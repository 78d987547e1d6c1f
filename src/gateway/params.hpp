// All that a gateway is told at its start; the configuration fills it in and has checked it.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include <onceguard/engine.hpp>
#include <onceguard/policy.hpp>

namespace onceguard::gateway {

/// A numeric address or host name, and a port.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend auto operator<=>(const endpoint&, const endpoint&) = default;
};

struct upstream_params {
  std::string name;
  endpoint address;
  std::string base_path;   ///< path of the URL without a final slash; put before each target
  std::string identity{};  ///< what fingerprints know it by
  friend bool operator==(const upstream_params&, const upstream_params&) = default;
};

/// A rule. The one with the longest path wins among those whose host and method fit; at equal
/// length one with a host before one without, one with methods before one without.
struct route_params {
  std::string host;                 ///< lower case, without port; empty: any
  std::string path = "/";           ///< a prefix that ends at a segment's border, normalised
  std::vector<std::string> method;  ///< empty: any
  std::size_t upstream = 0;         ///< index into routing_params::upstreams
  route_policy policy;
};

/// What SIGHUP may change while the gateway runs.
struct routing_params {
  std::vector<upstream_params> upstreams;
  std::vector<route_params> routes;  ///< the last resort, path "/" and any host, included
};

using onceguard::after_loss_rule;

struct gateway_params {
  endpoint listen{"127.0.0.1", 8080};
  unsigned threads = 0;  ///< 0: one per core
  std::size_t max_connections = 10'000;
  std::size_t max_buffered = 256u << 20;  ///< bytes of bodies, answers and waiting settles
  std::size_t replay_cache = 16u << 20;   ///< bytes; 0: none
  milliseconds settle_wait{10'000};
  milliseconds drain{65'000};
  std::string problem_base = "urn:onceguard:problem:";
  std::string state_dir;                     ///< empty: no witness
  std::vector<std::string> trusted_proxies;  ///< addresses or CIDR blocks
  std::size_t max_header_bytes = 64u << 10;
  std::size_t max_header_count = 100;
  milliseconds header_timeout{10'000};  ///< from a head's first byte to its last
  milliseconds body_timeout{30'000};    ///< between two pieces of a request's body
  milliseconds idle_timeout{60'000};    ///< a kept-alive or tunnelled connection without traffic
  milliseconds connect_timeout{5'000};  ///< to the upstream
  milliseconds write_timeout{30'000};   ///< a peer that does not take what is sent to it
  std::size_t min_client_rate = 1024;   ///< bytes a second, on average; 0: none
  std::size_t max_waiters = 10'000;     ///< requests held by on_busy = "wait"; beyond it 409

  milliseconds store_timeout{2'000};
  milliseconds sweep_interval{60'000};
  after_loss_rule after_loss = after_loss_rule::refuse;
  milliseconds reconcile_interval{0};  ///< between rounds; 0: never by itself
};

}  // namespace onceguard::gateway
