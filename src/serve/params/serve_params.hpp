// The parameters of the decision service. The configuration fills them in and has checked them.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/http_message.hpp>
#include <onceguard/policy.hpp>

#include "base/address.hpp"

namespace onceguard::serve {

/// What can't change while the service runs.
struct serve_params {
  bool enabled = false;
  base::server_address listen;
  unsigned mode = 0600;         ///< of a Unix socket's file
  std::string token_file;       ///< empty: whoever connects is a client
  std::string tls_certificate;  ///< a PEM file; empty: in the clear
  std::string tls_key;
  std::string tls_client_ca;  ///< empty: no client's certificate is asked for
  std::size_t threads = 1;
  std::size_t max_connections = 10'000;
  std::size_t max_messages = 64u << 20;  ///< in bytes: messages that are read or answered now
  milliseconds message_timeout{10'000};  ///< from the first to the last byte of a message
  milliseconds idle_timeout{60'000};     ///< of a connection that holds no operation
  milliseconds write_timeout{10'000};    ///< for a client that does not read its answer
  milliseconds drain{25'000};            ///< for settles, after SIGTERM
  std::string problem_base = "urn:onceguard:problem:";
};

using policy_ptr = std::shared_ptr<const route_policy>;

/// How a claim by its parts finds its policy. The error of a refused one names what is wrong.
struct policy_source {
  std::function<result<policy_ptr>(std::string_view name)> by_name;
  std::vector<policy_ptr> named;  ///< all that by_name() can find
  /// `object` is a JSON object of options.
  std::function<result<policy_ptr>(std::string_view object)> from_object;
};

/// What a reload changes.
struct serve_rules {
  std::vector<http::route> routes;  ///< one of them fits every request
  /// By host and path of a route: the name that fingerprints know its service by.
  std::map<std::string, std::string, std::less<>> services;
  std::string service = "default";  ///< of a route that is not in `services`
  std::vector<std::string> trusted_proxies;
  route_policy defaults;  ///< of claims by their parts that name no policy
  policy_source policies;
};

}  // namespace onceguard::serve
