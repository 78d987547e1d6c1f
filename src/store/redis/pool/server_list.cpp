#include "store/redis/pool/server_list.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace onceguard::redis {

server* server_list::find(const endpoint& endpoint) noexcept {
  for (auto& each : servers_) {
    if (each.at() == endpoint) return &each;
  }
  return nullptr;
}

server& server_list::at(const endpoint& endpoint) {
  auto* const known = find(endpoint);
  if (known == nullptr) return servers_.emplace_back(shared_, endpoint);
  known->take_back();
  return *known;
}

void server_list::assign(const layout& found) {
  std::vector<endpoint> named;
  std::vector<server*> servers;
  std::string all;
  for (const auto& each : found.masters) {
    all += (all.empty() ? "" : " ") + each.endpoint.text();
    named.push_back(each.endpoint);
    servers.push_back(&at(each.endpoint));
  }
  const auto& store_address = shared_.connections.address;
  if (named != layout_ && store_address.servers != deployment::single) {
    base::log(base::event::store_masters, {{"store", store_address.name}, {"servers", all}});
  }
  layout_ = std::move(named);
  for (std::size_t part = 0; part < queues_.size(); ++part) {
    const auto owner = found.owner[part];
    queues_[part].lead_to(owner ? servers[*owner] : nullptr);
  }
  for (auto& each : servers_) settle_in(each);
  publish();
}

/// A server without a part finishes what it has in flight. If it is not a master any more, its
/// requests are sent again to the new master.
void server_list::settle_in(server& server) {
  std::vector<std::size_t> parts;
  for (std::size_t part = 0; part < queues_.size(); ++part) {
    if (queues_[part].target == &server) parts.push_back(part);
  }
  const bool leads = !parts.empty();
  server.hold(leads, std::move(parts));
  if (leads || server.lingers(base::boot_now())) return;
  if (std::find(layout_.begin(), layout_.end(), server.at()) == layout_.end()) {
    server.close(connection_failure("the server is not a master of the store any more"));
  }
  server.retire();
}

void server_list::drop(steady_time now) {
  for (auto& each : servers_) {
    if (!each.leads() && !each.lingers(now)) each.retire();
  }
  if (std::erase_if(servers_, [](const server& each) { return each.gone(); }) > 0) publish();
}

void server_list::publish() {
  std::vector<server_pin> all;
  bool durable = true;
  for (const auto& each : servers_) {
    if (each.retired()) continue;
    all.push_back(each.pin());
    durable = durable && each.durable();
  }
  durable_ = durable && !all.empty();
  const std::lock_guard lock(pins_access_);
  pins_ = std::move(all);
}

std::vector<server_pin> server_list::pins() const {
  const std::lock_guard lock(pins_access_);
  return pins_;
}

}  // namespace onceguard::redis
