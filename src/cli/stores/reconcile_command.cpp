#include <iostream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/this_coro.hpp>

#include "cli/change_log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/store_work.hpp"
#include "cli/stores/finding_text.hpp"
#include "config/stores.hpp"
#include "core/kept_key.hpp"
#include "gateway/reconciling.hpp"

namespace onceguard::cli::stores {
namespace {

using boost::asio::awaitable;

struct reconcile_request {
  bool dry_run = false;
  bool json = false;
  std::size_t limit = 0;
};

int refuse_reconcile(const error& why) {
  if (why.code != errc::invalid_argument) return complain(why);
  std::cerr << "onceguard: " << why.detail << "\n";
  return exit_configuration;
}

awaitable<int> reconcile_store(store& records, const config::settings& settings,
                               const reconcile_request& request, change_log* changes) {
  const auto query = config::make_query_source(settings, request.dry_run);
  // Each command runs on a separate io_context.
  const auto executor = co_await boost::asio::this_coro::executor;
  auto& io = static_cast<boost::asio::io_context&>(
      boost::asio::query(executor, boost::asio::execution::context));
  gateway::host_lookup names;
  gateway::suspect_upstreams suspects;
  gateway::upstream_pool pool(io, settings.gateway, names, suspects);
  const gateway::inquiries inquiries(pool, settings.routing.routes, query.get());
  if (core::pepper_in_use() != nullptr) {
    std::cerr
        << "onceguard: with key_pepper_file nobody can be asked by key, as the store does not "
           "know the keys; a client's repeat asks the probe, and onceguard keys complete and "
           "release settle one record\n";
    co_return exit_configuration;
  }
  if (!inquiries.any()) {
    std::cerr << "onceguard: nobody can be asked: set query in [reconcile], or the probe of a "
                 "route\n";
    co_return exit_configuration;
  }
  if (query) {
    const auto ready = co_await query->prepare();
    if (!ready) co_return refuse_reconcile(ready.error());
  }
  reconcile_params params;
  params.store_timeout = settings.store.timeout;
  params.limit = request.limit;
  params.dry_run = request.dry_run;
  if (changes != nullptr) {
    params.audit = &changes->log();
    params.author = changes->author();
  }
  auto choose = [&inquiries](const subject& subject) { return inquiries.about(subject); };
  auto show = [&request](const finding& found) {
    std::cout << (request.json ? finding_json(found) : finding_line(found)) << std::endl;
  };
  const auto counts = co_await reconcile(io, records, params, std::move(choose), std::move(show));
  if (!counts) co_return complain(counts.error());
  if (!request.json) std::cout << summary(*counts, request.dry_run) << "\n";
  co_return exit_ok;
}

int run_reconcile(const given_flags& given, const reconcile_request& request) {
  return run_change(given, "reconcile", {}, false,
                    [&](store& records, const config::settings& settings, change_log* changes) {
                      return reconcile_store(records, settings, request, changes);
                    });
}

}  // namespace

void add_reconcile_command(const command& added) {
  const auto request = std::make_shared<reconcile_request>();
  added.add(
      {{"--dry-run", &request->dry_run,
        "Only say what a query would decide, and which probes would be asked; change nothing"},
       {"--limit", &request->limit, "Look at so many records at most; 0: at all"},
       {"--json", &request->json, "One JSON object per line"}});
  const auto given =
      add_store_flags(added, {"reconcile-query", "reconcile-absent", "reconcile-database", "probe",
                              "probe-mode", "probe-present", "probe-absent", "upstream-timeout",
                              "log-level", "log-format", "audit-log"});
  added.runs([=] { return run_reconcile(*given, *request); });
}

}  // namespace onceguard::cli::stores
