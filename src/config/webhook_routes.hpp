// What a route of webhooks needs, and differs in from others.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/policy/routes.hpp"
#include "gateway/params/gateway_params.hpp"
#include "webhook/sender.hpp"

namespace onceguard::config {

/// Makes `made` a route of the webhooks that `read` names, if it names any, and gives `read.policy`
/// the defaults of such a route. Without `need_secrets`, the file of the secrets is not read, and
/// no delivery is genuine.
void take_webhook(const std::vector<webhook::sender>& senders, bool need_secrets,
                  configured_route& read, gateway::route_params& made, remarks& out);

/// The queues that routes publish their deliveries to.
class webhook_queues {
 public:
  /// Takes the queue of a route, if it has one, and says whether another route has the same.
  void take(const configured_route& read, const gateway::route_params& made, remarks& out);

 private:
  /// By queue: the first route that publishes there, and its sender.
  std::map<std::string, std::pair<std::string, std::string>> first_;
};

}  // namespace onceguard::config
