#include "messaging/redis_streams/stream_server.hpp"

#include "base/number_in.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

using connection_ptr = std::unique_ptr<server_connection>;

/// Of a slot that is on its way the first node knows the second, and that is where it is.
constexpr int redirections_max = 5;

connection_ptr connect(const stream_address& where, const server_address& server, moment until) {
  return std::make_unique<server_connection>(server, where.tls, where.url.login, until);
}

/// What is left of the time, shared by those that have not been asked.
moment share_of(moment until, std::size_t others) {
  const auto now = base::boot_now();
  return now + (until - now) / static_cast<std::int64_t>(others);
}

[[noreturn]] void give_up(const std::string& why) {
  throw failed{error(errc::broker_unreachable, why)};
}

/// The work with each server, until one succeeds.
template <class Work>
auto with_one_of(const std::vector<server_address>& servers, moment until, Work work) {
  std::string why;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    auto done = caught([&] { return work(servers[i], share_of(until, servers.size() - i)); });
    if (done) return *std::move(done);
    if (done.error().code == errc::invalid_argument) throw failed{done.error()};
    if (!why.empty()) why += "; ";
    why += servers[i].text() + ": " + done.error().detail;
  }
  give_up(why);
}

// --- sentinels ----------------------------------------------------------------------------------

struct master_report {
  server_address server;
  std::uint64_t epoch = 0;  ///< of the failover that made it the master
};

std::uint16_t port_in(std::string_view text) {
  const auto out = base::number_in<std::uint16_t>(text, 1);
  if (!out) give_up("the server names an address that is none");
  return *out;
}

std::uint64_t epoch_in(const redisReply& facts) {
  const reply pairs(facts);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs.at(i).text() != "config-epoch") continue;
    return base::number_in<std::uint64_t>(pairs.at(i + 1).text()).value_or(0);
  }
  return 0;
}

master_report report_of(const stream_address& where, const server_address& sentinel, moment until) {
  server_connection asked(sentinel, where.tls, where.sentinel_login, until);
  const std::array<command, 2> questions{
      command{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", where.master},
      command{"SENTINEL", "MASTER", where.master}};
  const auto got = asked.ask_all(questions, until);
  const auto fault = fault_in(*got[1]);
  if (fault.starts_with("ERR No such master")) {
    give_up("the sentinel knows no master named " + where.master);
  }
  if (!fault.empty()) give_up(std::string(fault));
  const reply address(*got[0]);
  if (address.is_nil()) give_up("the sentinel knows no address of the master");
  return {{std::string(address.at(0).text()), port_in(address.at(1).text())}, epoch_in(*got[1])};
}

/// A sentinel that was cut off knows of earlier failovers only: the latest one that any knows
/// counts.
server_address master_of(const stream_address& where, moment until) {
  std::optional<master_report> latest;
  std::string why;
  for (std::size_t i = 0; i < where.seeds.size(); ++i) {
    const auto& sentinel = where.seeds[i];
    const auto found = caught(
        [&] { return report_of(where, sentinel, share_of(until, where.seeds.size() - i + 1)); });
    if (found) {
      if (!latest || found->epoch > latest->epoch) latest = *found;
      continue;
    }
    if (found.error().code == errc::invalid_argument) throw failed{found.error()};
    why += (why.empty() ? "" : "; ") + sentinel.text() + ": " + found.error().detail;
  }
  if (!latest) give_up("no sentinel says which server is the master: " + why);
  return latest->server;
}

connection_ptr connect_to_master(const stream_address& where, moment until) {
  const auto server = master_of(where, until);
  return with_one_of({server}, until, [&](const server_address& master, moment limit) {
    auto out = connect(where, master, limit);
    // A former master, or a replica that is not promoted yet, answers here too (Redis: guidelines
    // for Sentinel clients, step 3).
    const auto role = out->ask({"ROLE"}, limit);
    if (const auto fault = fault_in(*role); !fault.empty()) give_up(std::string(fault));
    if (reply(*role).at(0).text() != "master") {
      give_up("the sentinels take it for the master, and it is none (yet)");
    }
    return out;
  });
}

// --- a cluster ----------------------------------------------------------------------------------

struct redirection {
  server_address server;
  bool migrating = false;
};

/// "MOVED 3999 127.0.0.1:6381", "ASK 3999 [host]:6381"; without a host it is that of who says so.
std::optional<redirection> redirection_in(std::string_view fault, const server_address& teller) {
  const bool migrating = fault.starts_with("ASK ");
  if (!migrating && !fault.starts_with("MOVED ")) return std::nullopt;
  const auto address = fault.substr(fault.rfind(' ') + 1);
  const auto colon = address.rfind(':');
  if (colon == address.npos) give_up("the cluster names an address that is none");
  redirection out{{std::string(address.substr(0, colon)), port_in(address.substr(colon + 1))},
                  migrating};
  if (out.server.host.empty() || out.server.host == "?") out.server.host = teller.host;
  return out;
}

/// Asks a node for the stream, and follows where it and others point to.
connection_ptr follow(const stream_address& where, server_address server, moment until) {
  bool migrating = false;
  for (int i = 0; i < redirections_max; ++i) {
    auto out = connect(where, server, until);
    if (migrating) out->follow_migration();
    // Any command with the key: a node that does not have its slot says which one has.
    const auto got = out->ask({"EXISTS", where.stream}, until);
    const auto fault = fault_in(*got);
    if (fault.empty()) return out;
    const auto next = redirection_in(fault, server);
    if (!next) give_up(std::string(fault));
    server = next->server;
    migrating = next->migrating;
  }
  give_up("the nodes of the cluster point to one another");
}

}  // namespace

std::unique_ptr<server_connection> connect_to_stream(const stream_address& where, moment until) {
  switch (where.servers) {
    case deployment::sentinel:
      return connect_to_master(where, until);
    case deployment::cluster:
      return with_one_of(where.seeds, until, [&](const server_address& seed, moment limit) {
        return follow(where, seed, limit);
      });
    case deployment::single:
      break;
  }
  return connect(where, where.seeds.front(), until);
}

}  // namespace onceguard::messaging::redis_streams
