#include "config/options.hpp"

namespace onceguard::config {

const std::vector<section>& sections() {
  static const std::vector<section> all{
      {"[gateway]", "The gateway itself. Changes take effect at the next start.",
       specs_of(gateway_rows())},
      {"[store]", "Where records are kept. Changes take effect at the next start.",
       specs_of(store_rows())},
      {"[reconcile]",
       "How `onceguard reconcile`, and the gateway by itself, find out what became of records "
       "whose "
       "outcome is unknown: by the probe of a record's route, and where that has none, by a query. "
       "Changes take effect at the next start.",
       specs_of(reconcile_rows())},
      {"[log]", "What is logged, and how. Changes take effect at the next start.",
       specs_of(log_rows())},
      {"[defaults]",
       "The policy of every route, unless the route says otherwise. SIGHUP takes changes over.",
       specs_of(policy_rows())},
      {"[[upstream]]", "A service that requests are passed on to. SIGHUP takes changes over.",
       specs_of(upstream_rows())},
      {"[[route]]",
       "Which requests go to which upstream, and by which policy. The route with the longest "
       "path wins; at equal length one with a host, then one with methods. Requests that match "
       "none go to the first upstream by the policy of [defaults]. SIGHUP takes changes over.",
       specs_of(route_rows()), true},
  };
  return all;
}

const std::vector<const option*>& flag_options() {
  static const std::vector<const option*> all = [] {
    std::vector<const option*> out{&upstream_flag()};
    for (const auto& s : sections()) {
      for (const auto* o : s.options) {
        if (!o->flag.empty()) out.push_back(o);
      }
    }
    return out;
  }();
  return all;
}

}  // namespace onceguard::config
