// How the pool handles the events of its servers and of the topology.
#include <algorithm>

#include "base/log.hpp"
#include "store/redis/pool/pool.hpp"
#include "store/redis/topology/cluster_text.hpp"

namespace onceguard::redis {
namespace {

constexpr std::chrono::milliseconds pause{20};  // before what can't be done now is tried again
constexpr std::uint32_t redirections_max = 5;   // in a row, without a pause

/// A name without the number of losses.
std::string_view identity_in(std::string_view name) { return name.substr(0, name.rfind('-')); }

}  // namespace

// --- who is where ---------------------------------------------------------------------------

server* pool::find_server(const endpoint& endpoint) noexcept {
  for (auto& each : servers_) {
    if (each.at() == endpoint) return &each;
  }
  return nullptr;
}

server& pool::server_at(const endpoint& endpoint) {
  if (auto* known = find_server(endpoint)) {
    known->take_back();
    return *known;
  }
  server_events& events = *this;
  return servers_.emplace_back(connections_made_, events, params_, names_, endpoint,
                               pipelines_each_);
}

void pool::lead(std::size_t i, server* server, steady_time now) {
  auto& mine = queues_[i];
  mine.at = server;
  if (server != nullptr) {
    mine.nowhere_since.reset();
  } else if (!mine.nowhere_since) {
    mine.nowhere_since = now;
  }
}

void pool::on_layout(const layout& found) {
  const auto now = base::boot_now();
  lost_why_.reset();
  masters_ = found.ids;
  std::vector<endpoint> named;
  named.reserve(found.masters.size());
  for (const auto& each : found.masters) named.push_back(each.at);
  if (named != layout_) {
    std::string all;
    for (const auto& each : named) all += (all.empty() ? "" : " ") + each.text();
    if (at_.servers != deployment::single) {
      base::log(base::event::store_masters, {{"store", at_.name}, {"servers", all}});
    }
    layout_ = std::move(named);
  }
  std::vector<server*> servers;
  servers.reserve(found.masters.size());
  for (const auto& each : found.masters) servers.push_back(&server_at(each.at));
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const auto owner = found.owner[part_of_queue(i)];
    lead(i, owner ? servers[*owner] : nullptr, now);
  }
  settle_in();
  soon();
}

void pool::on_no_layout(const failure& why) {
  lost_why_ = why;
  soon();
}

/// Assigns the parts to the servers, and retires the servers that have none.
void pool::settle_in() {
  for (auto& each : servers_) {
    server::part_set parts;
    bool leads = false;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (queues_[i].at != &each) continue;
      leads = true;
      if (names_.cut()) parts.set(i);
    }
    each.hold(leads, parts);
    each.greet_parts();
    if (!leads) take_out(each);
  }
  publish();
}

/// Requests in flight on this server are finished. If the server is not a master any more, they are
/// sent again to the new master.
void pool::take_out(server& server) {
  if (server.lingers(base::boot_now())) return;
  const bool listed = std::find(layout_.begin(), layout_.end(), server.at()) != layout_.end();
  if (!listed) {
    server.close(connection_failure("the server is not a master of the store any more"));
  }
  server.retire();
}

void pool::refuse_server_of(std::size_t part, failure why) {
  boost::asio::post(context_, [this, part, why = std::move(why)] {
    if (closing_) return;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (part_of_queue(i) == part && queues_[i].at != nullptr) return queues_[i].at->close(why);
    }
  });
}

void pool::note_names(std::vector<std::string> names) {
  boost::asio::post(context_, [this, names = std::move(names)] {
    for (std::size_t part = 0; part < names.size(); ++part) {
      auto& mine = known_[part];
      const auto& name = names[part];
      // Another identity is for the greeting to find out, after a batch has noticed it.
      if (mine.name == name || identity_in(mine.name) != identity_in(name)) continue;
      mine.name = name;
      for (auto& each : servers_) each.rename(part, name);
    }
  });
}

void pool::drop_servers(steady_time now) {
  bool dropped = false;
  for (auto each = servers_.begin(); each != servers_.end();) {
    if (!each->leads() && !each->lingers(now)) each->retire();
    if (!each->gone()) {
      ++each;
      continue;
    }
    each = servers_.erase(each);
    dropped = true;
  }
  if (dropped) publish();
}

void pool::publish() {
  std::vector<server_pin> all;
  bool durable = true;
  for (const auto& each : servers_) {
    if (each.retired()) continue;
    all.push_back(each.pin());
    durable = durable && each.durable();
  }
  durable_ = durable && !all.empty();
  const std::lock_guard lock(shared_);
  published_ = std::move(all);
}

// --- what servers tell ----------------------------------------------------------------------

void pool::on_facts(server&, const server_facts& facts) {
  publish();
  if (!params_.copies_only) warn_of_loss_at_restart(facts);
}

void pool::warn_of_loss_at_restart(const server_facts& facts) {
  const std::string loss(lost_by_restart(facts));
  if (loss == std::exchange(loss_logged_, loss)) return;
  base::log(base::event::restart_loss,
            keeps_everything(facts) ? base::log_level::info : base::log_level::warning,
            {{"store", at_.name}, {"loss", loss}, {"version", facts.version}});
  if (facts.eviction.empty()) {
    base::log(base::event::eviction_policy_unknown, {{"store", at_.name}});
  }
}

void pool::on_greeting(std::size_t part, const std::string& run, const greeting& greeting) {
  if (greeting.lost) {
    base::log(base::event::acknowledged_writes_lost, {{"store", at_.name}});
  }
  auto& mine = known_[part];
  if (greeting.name != mine.name) {
    // For copies the tiered store decides what a loss means.
    if (!mine.name.empty() && !params_.copies_only) memory_.changed();
    mine = {greeting.name, run, 0};
  }
  // If replicas must confirm, a master's unconfirmed generation does not count: its promotion may
  // be taken back, and nothing that was acknowledged is lost then.
  if (at_.min_replicas == 0) {
    mine.run = run;
    mine.generation = std::max(mine.generation, greeting.generation);
  }
  read_clock(greeting.now);
}

void pool::on_generation(std::size_t part, const std::string& run, std::uint64_t generation) {
  auto& mine = known_[part];
  if (generation <= mine.generation) return;
  mine.run = run;
  mine.generation = generation;
}

void pool::on_up(server& server) {
  topology_->distrust();  // where somebody has to vouch for it
  if (std::exchange(outage_logged_, false)) {
    base::log(base::event::store_back, {{"store", at_.name}, {"server", server.at().text()}});
  }
  soon();
}

void pool::on_down(server& server, const failure& why) {
  if (closing_) return;
  topology_->distrust();
  // Requests that were redirected to this server go back to the server that redirected them.
  if (!server.any_ready()) {
    for (auto& each : std::exchange(server.named(), {})) {
      if (each.what->pin) {
        server.named().push_back(std::move(each));
      } else {
        queues_.add(std::move(each));
      }
    }
  }
  soon();
  const bool expected = server.retired() || !ready_reported_ || server.any_ready();
  if (!expected && !std::exchange(outage_logged_, true)) {
    base::log(base::event::store_away,
              {{"store", at_.name}, {"server", server.at().text()}, {"why", why.text}});
  }
}

void pool::on_ended(entry ended) {
  if (ended.queued) --queues_[ended.request_queue].under_way;
  queues_[ended.request_queue].turned_away = 0;
  finish(std::move(ended));
}

void pool::on_returned(server& server, entry back, const failure& why) {
  if (back.queued) --queues_[back.request_queue].under_way;
  back.queued = false;
  const bool late = back.of->give_up_at <= base::boot_now();
  if (late || (back.what->doubtful && !back.what->repeatable)) {
    auto reply = why;
    reply.misconfigured = false;
    return end(back, to_error(reply, at_.name, effect::none));
  }
  if (back.what->pin) return server.named().push_back(std::move(back));
  queues_.add(std::move(back));
}

void pool::on_redirected(server& server, entry back, const failure& why) {
  const auto now = base::boot_now();
  const auto target = target_of(why, server.at());
  auto& mine = queues_[back.request_queue];
  const bool in_circles = ++mine.turned_away > redirections_max;
  if (in_circles) mine.paused_until = now + pause;
  if (why.code == "ASK" && target && !in_circles) {
    if (std::exchange(back.queued, false)) --mine.under_way;
    auto& there = server_at(*target);
    there.use(now);
    return there.named().push_back(std::move(back));
  }
  if (why.code == "MOVED" && target) {
    if (mine.at == &server) {
      auto& next = server_at(*target);
      lead(back.request_queue, &next, now);
      // The greeting for the part waits for the next layout, which also shows whether the former
      // node is still a master. Otherwise a failover would seem to be a moved slot.
      if (!next.leads()) next.hold(true, {});
      publish();
    }
  } else {
    mine.paused_until = now + pause;
  }
  topology_->distrust();
  on_returned(server, std::move(back), why);
}

void pool::on_astray(server&) { topology_->distrust(); }

/// Expiry follows the server's clock in any case. A step of the clock is only logged.
void pool::read_clock(std::int64_t server_now) {
  const std::lock_guard lock(shared_);
  const auto boot = params_.clock->boot_ms();
  if (!wall_) wall_.emplace(wall_memory{.offset = server_now - boot});
  const bool distrusted = !wall_->trusts(boot, server_now);
  if (distrusted && !clock_distrusted_) {
    base::log(base::event::server_clock_stepped, {{"store", at_.name}});
  }
  clock_distrusted_ = distrusted;
}

}  // namespace onceguard::redis
