#include "config/all_options.hpp"

#include "config/consume_options.hpp"
#include "config/relay_options.hpp"
#include "config/webhook_options.hpp"

namespace onceguard::config {
namespace {

std::string_view text_of_policies() {
  static const auto text = [] {
    std::string out =
        "The policy of operations that clients of the decision service claim by their parts, and "
        "not as a request: a claim names it. What it does not say is said by [defaults]. SIGHUP "
        "takes changes over. These options of `[defaults]` may stand here too:";
    for (const auto* one : operation_options()) {
      out += (out.back() == ':' ? " `" : ", `") + std::string(one->name) + "`";
    }
    return out + ".";
  }();
  return text;
}

}  // namespace

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
      {"[jwt]",
       "Who signs the bearer tokens that a `scope = \"jwt:CLAIM\"` is made of. SIGHUP takes "
       "changes "
       "over. See [tokens](tokens.md).",
       specs_of(jwt_rows())},
      {"[log]", "What is logged, and how. Changes take effect at the next start.",
       specs_of(log_rows())},
      {"[defaults]",
       "The policy of every route, unless the route says otherwise. SIGHUP takes changes over.",
       specs_of(policy_rows())},
      {"[serve]",
       "The decision service that `onceguard serve` is: see [its protocol](protocol.md). "
       "`max_buffered`, `replay_cache`, `settle_wait`, `drain`, `state_dir`, `problem_base`, "
       "`trusted_proxies` and the admin listener are those of [gateway]. Changes take effect at "
       "the next start.",
       specs_of(serve_rows())},
      {"[[upstream]]", "A service that requests are passed on to. SIGHUP takes changes over.",
       specs_of(upstream_rows())},
      {"[[route]]",
       "Which requests go to which upstream, and by which policy. The route with the longest "
       "path wins; at equal length one with a host, then one with methods. Requests that match "
       "none go to the first upstream by the policy of [defaults]. SIGHUP takes changes over.",
       specs_of(route_rows()), true},
      {"[[policy]]", text_of_policies(), specs_of(policy_table_rows())},
      {"[[webhook]]",
       "A sender of [webhooks](webhooks.md) besides those that are known: how it signs, and where "
       "a delivery has its id. SIGHUP takes changes over.",
       specs_of(webhook_rows())},
      {"[[consume]]",
       "A queue whose messages `onceguard consume` hands to an endpoint or a command, once per "
       "message id. Of the policy, `lease`, `backoff`, `backoff_max`, `retention` (7 days unless "
       "given) and `outcome` count, the last two only where the table says them itself. See "
       "[messages](messages.md).",
       specs_of(consume_rows()), true},
      {"[[relay]]",
       "An outbox whose messages `onceguard relay` sends to a broker or an endpoint, at least once "
       "and with the same id each time. See [messages](messages.md).",
       specs_of(relay_rows())},
  };
  return all;
}

std::string_view section_of(std::string_view name) {
  for (const auto& s : sections()) {
    for (const auto* o : s.options) {
      if (o->name == name) return s.title;
    }
  }
  return {};
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
