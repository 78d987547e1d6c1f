// The complete configuration, in the types of the parts of the program that use it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <onceguard/policy.hpp>

#include "base/log.hpp"
#include "config/policy/operation_policies.hpp"
#include "config/policy/value_source.hpp"
#include "config/table/option.hpp"
#include "consume/consume_params.hpp"
#include "gateway/params/admin_params.hpp"
#include "gateway/params/gateway_params.hpp"
#include "http/access_log.hpp"
#include "relay/relay_params.hpp"
#include "serve/params/serve_params.hpp"
#include "store/registry.hpp"

namespace onceguard::config {

enum class log_format : std::uint8_t { automatic, text, json };

struct log_params {
  base::log_level level = base::log_level::info;
  log_format format = log_format::automatic;
  std::string file;  ///< empty: standard error
  http::access_log_rule access = http::access_log_rule::guarded;
};

/// A query of the application's tables that reports whether an operation took effect.
struct query_params {
  std::string text;             ///< empty: no query
  std::string database;         ///< empty: the store's database
  bool absent_is_none = false;  ///< an absent row means not done; otherwise still unknown
};

/// A Redis as accelerator in front of the store.
struct accelerator_params {
  std::string url;                     ///< empty: no accelerator
  bool replays_without_store = false;  ///< replay even while the store can't be reached
};

/// Who signs the tokens that scopes are made of.
struct jwt_params {
  std::string keys_file;  ///< a JSON Web Key Set; empty: no token is accepted
  std::string issuer;     ///< empty: any
  std::string audience;   ///< empty: any
  milliseconds leeway{60'000};
};

struct settings {
  gateway::gateway_params gateway;
  admin::admin_params admin;
  gateway::routing_params routing;
  serve::serve_params serve;  ///< for `onceguard serve`
  inline_rules inlined;       ///< of policies that its clients bring along
  /// Of operations without a request; not null.
  std::shared_ptr<const operation_policies> operations;
  store_params store;
  accelerator_params accelerator;
  query_params query;  ///< gateway.reconcile_interval sets how often the query runs
  jwt_params jwt;
  log_params log;
  std::vector<consume::consume_params> consumers;  ///< for `onceguard consume`
  std::vector<relay::relay_params> relays;         ///< for `onceguard relay`
  route_policy defaults;                           ///< for routes that don't set their own values

  /// The settings that can't change while the gateway runs, as written in the file: "[gateway]
  /// listen" → "\"127.0.0.1:8080\"".
  std::map<std::string, std::string> fixed;
  /// For each route of `routing`, its policy by option, as written in the file.
  std::vector<std::map<std::string, std::string>> route_options;
  /// For each route of `routing`, where each of these comes from: "onceguard.toml:3:9", a flag, a
  /// profile; empty: the default.
  std::vector<std::map<std::string, value_source>> route_sources;
  /// For each [[policy]], its policy by option.
  std::map<std::string, std::map<std::string, std::string>> policy_options;
  bool sandbox = true;        ///< of processes that stay: see cli::services::shut_in()
  bool says_nothing = false;  ///< no file, or one that has no table and no key
};

}  // namespace onceguard::config
