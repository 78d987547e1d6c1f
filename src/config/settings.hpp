// The configuration as the rooms take it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include <onceguard/policy.hpp>

#include "base/log.hpp"
#include "config/option.hpp"
#include "gateway/params.hpp"
#include "store/open.hpp"

namespace onceguard::config {

enum class log_format : std::uint8_t { automatic, text, json };

struct log_params {
  base::log_level level = base::log_level::info;
  log_format format = log_format::automatic;
};

/// A query that tells from the application's tables whether an operation took effect.
struct query_params {
  std::string text;             ///< empty: there is none
  std::string database;         ///< empty: the store's own
  bool absent_is_none = false;  ///< no row: it did not happen; else: still unknown
};

/// A Redis in front of the store.
struct accelerator_params {
  std::string url;                     ///< empty: there is none
  bool replays_without_store = false;  ///< also while the store is out of reach
};

struct settings {
  gateway::gateway_params gateway;
  gateway::routing_params routing;
  store_params store;
  accelerator_params accelerator;
  query_params query;  ///< gateway.reconcile_interval says how often it is asked
  log_params log;
  route_policy defaults;  ///< what routes do unless they say otherwise

  /// What can't change while the gateway runs, as it would stand in the file:
  /// "[gateway] listen" → "\"127.0.0.1:8080\"".
  std::map<std::string, std::string> fixed;
};

}  // namespace onceguard::config
