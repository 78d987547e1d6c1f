// The senders of webhooks, the presets' and those of [[webhook]], and the routes that take them.
#pragma once
#include <span>
#include <vector>

#include "config/policy/routes.hpp"
#include "config/table/document.hpp"
#include "config/table/option.hpp"
#include "config/table/table_reader.hpp"
#include "gateway/params/gateway_params.hpp"
#include "webhook/sender.hpp"

namespace onceguard::config {

[[nodiscard]] std::span<const row<webhook::sender>> webhook_rows();

/// The presets, and the senders of `tables`, the array [[webhook]]; null: there is none. Nothing
/// where there are no routes either, as only a route names a sender.
[[nodiscard]] std::vector<webhook::sender> read_senders(const reading& source, const node* tables,
                                                        bool routes, remarks& out);

/// Makes `made` a route of the webhooks that `read` names, if it names any, and gives `read.policy`
/// the defaults of such a route. Without `need_secrets`, the file of the secrets is not read, and
/// no delivery is genuine.
void take_webhook(const std::vector<webhook::sender>& senders, bool need_secrets,
                  configured_route& read, gateway::route_params& made, remarks& out);

}  // namespace onceguard::config
