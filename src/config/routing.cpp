#include "config/routing.hpp"

#include "config/upstreams.hpp"
#include "config/webhook_routes.hpp"

namespace onceguard::config {

routing_output build_routing(const routing_input& input, remarks& out) {
  routing_output result;
  upstreams known(input, out);
  webhook_queues queues;
  for (auto& read : read_routes(input.source, input.routes, input.defaults, out)) {
    gateway::route_params made;
    static_cast<http::route&>(made) = std::move(read.rule);
    made.upstream = known.find(read.upstream, read.upstream_position);
    take_webhook(input.senders, input.need_upstream, read, made, out);
    queues.take(read, made, out);
    result.params.routes.push_back(std::move(made));
    result.policies.push_back(std::move(read.policy));
  }
  result.params.upstreams = std::move(known).take();
  return result;
}

}  // namespace onceguard::config
