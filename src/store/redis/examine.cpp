#include "store/redis/examine.hpp"

#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/certificate.hpp"
#include "base/rethrow.hpp"
#include "store/redis/pool/server_facts.hpp"
#include "store/redis/redis_store.hpp"

namespace onceguard::redis {
namespace {

using base::diagnosis;
using boost::asio::awaitable;
using grade = diagnosis::grade;

struct server_view {
  server_facts facts;
  std::int64_t ahead = 0;  ///< of its clock, in milliseconds
  std::int64_t round_trip = 0;
};

awaitable<void> read_facts(connection& connection, const address& address, const base::clock& clock,
                           std::optional<server_view>& out) {
  try {
    server_view seen;
    co_await connection.connect();
    co_await connection.log_in(address.login);
    seen.facts = co_await ask_facts(connection);
    const auto sent = clock.wall_ms();
    const auto time = co_await ask_time(connection);
    seen.round_trip = clock.wall_ms() - sent;
    seen.ahead = time - sent - seen.round_trip / 2;
    out = std::move(seen);
  } catch (const broken&) {
    out.reset();  // the caller says that nothing is known
  }
  connection.close();
}

/// None: the server did not answer in time.
std::optional<server_view> read_server(const address& address, const store_params& params) {
  auto tls = make_tls(address);
  if (!tls) return std::nullopt;
  boost::asio::io_context context(1);
  const connection_context shared{context, address, *tls ? &**tls : nullptr};
  connection to_server(shared, address.seeds.front());
  std::optional<server_view> out;
  boost::asio::co_spawn(context, read_facts(to_server, address, *params.clock, out), base::rethrow);
  context.run_for(params.timeout);
  to_server.close();
  context.restart();
  context.run();  // what was cancelled ends
  return out;
}

void examine_files(const tls_files& files, store_role role, base::diagnoses& out) {
  if (!files.ca.empty()) {
    out.push_back(
        base::examine_certificate(files.ca, diagnosis_id(role, "certificate"), "Redis's ca"));
  }
  if (files.certificate.empty()) return;
  out.push_back(base::examine_certificate(files.certificate, diagnosis_id(role, "certificate"),
                                          "Redis's cert"));
  out.push_back(base::examine_key(files.key, diagnosis_id(role, "key"), "Redis's key"));
}

diagnosis examine_eviction(const server_facts& facts, store_role role) {
  const auto id = diagnosis_id(role, "eviction");
  if (facts.eviction.empty()) {
    return {grade::note, id, "the server does not say what it does when its memory is full",
            "make sure that maxmemory-policy is noeviction"};
  }
  return {grade::ok, id, "maxmemory-policy is " + facts.eviction, {}};
}

diagnosis examine_persistence(const server_facts& facts) {
  const auto id = diagnosis_id(store_role::truth, "durability");
  auto text = "a restart of the server loses: " + std::string(lost_by_restart(facts));
  if (keeps_everything(facts)) return {grade::ok, id, std::move(text), {}};
  return {grade::warning, id, std::move(text),
          "set appendonly yes and appendfsync always, or put PostgreSQL behind Redis "
          "(docs/tiered.md)"};
}

/// Release notes of 7.0.5 and 7.0.11: the append-only file was not flushed in some cases.
void examine_version(const server_facts& facts, base::diagnoses& out) {
  if (facts.append_only != "yes" || !is_faulty(facts.version, {"7.0.0", "7.0.11"})) return;
  out.push_back({grade::warning, diagnosis_id(store_role::truth, "version"),
                 "Redis " + facts.version +
                     " leaves out some flushes of its append-only file: a crash of its machine "
                     "may lose what was acknowledged",
                 "update to 7.0.11 or later"});
}

void examine_server(const address& address, const store_params& params, store_role role,
                    base::diagnoses& out) {
  const auto seen = read_server(address, params);
  if (!seen) {
    out.push_back({grade::note,
                   diagnosis_id(role, "settings"),
                   address.name + ": the server's settings can't be read",
                   {}});
    return;
  }
  out.front().text += " (Redis " + seen->facts.version + ")";
  out.push_back(diagnose_clock(role, seen->ahead, seen->round_trip));
  out.push_back(examine_eviction(seen->facts, role));
  if (role != store_role::truth) return;
  out.push_back(examine_persistence(seen->facts));
  examine_version(seen->facts, out);
}

diagnosis examine_durability(const store& opened) {
  const auto id = diagnosis_id(store_role::truth, "durability");
  if (opened.traits().durable) {
    return {grade::ok, id, "a restart of a server loses nothing that was acknowledged", {}};
  }
  return {grade::warning, id, "a restart of a server loses acknowledged records",
          "set appendonly yes and appendfsync always on each server"};
}

}  // namespace

base::diagnoses examine(const store_params& params, store_role role) {
  const auto address = parse_address(params.url);
  if (!address) return {diagnose_refusal(role, address.error())};
  base::diagnoses out;
  // As a gateway does: it checks the rights, and each server.
  const auto opened = redis_store::open({.url = params.url,
                                         .timeout = params.timeout,
                                         .clock = params.clock,
                                         .copies_only = role == store_role::accelerator});
  if (!opened) {
    out.push_back(diagnose_refusal(role, opened.error()));
  } else {
    out.push_back({grade::ok, diagnosis_id(role, "reach"), address->name + ": in reach", {}});
    if (role == store_role::truth) out.push_back(diagnose_writes(role, **opened, params.timeout));
    if (address->servers == deployment::single) {
      examine_server(*address, params, role, out);
    } else {
      out.push_back(examine_durability(**opened));
    }
  }
  if (address->tls) examine_files(*address->tls, role, out);
  return out;
}

}  // namespace onceguard::redis
