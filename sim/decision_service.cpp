#include "decision_service.hpp"

#include <optional>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include <onceguard/guard.hpp>

#include "engine/background.hpp"
#include "serve/connection.hpp"

namespace onceguard::sim {

namespace asio = boost::asio;

namespace {

constexpr std::size_t service_memory = 1u << 20;

/// A guard has a thread, for callers who wait. Here nobody does.
class guard_outside {
 public:
  guard_outside(engine& running, store& records, byte_budget& budget) {
    const outside_simulation real;
    guard_.emplace(guard::over(running, records, budget, guard_params{}));
  }
  ~guard_outside() {
    const outside_simulation real;
    guard_.reset();
  }
  guard_outside(const guard_outside&) = delete;
  guard_outside& operator=(const guard_outside&) = delete;
  [[nodiscard]] guard& get() noexcept { return *guard_; }

 private:
  std::optional<guard> guard_;
};

serve::serve_params service_params() {
  serve::serve_params out;
  out.listen.socket_path = "/run/onceguard";
  out.message_timeout = milliseconds(1'000);
  out.idle_timeout = milliseconds(3'000);
  out.write_timeout = milliseconds(1'000);
  return out;
}

serve::serve_rules rules_of(const scene& played) {
  serve::serve_rules out;
  // After a loss nothing is claimed for as long as any of the policies lets work go on.
  out.defaults = played.keys.front().policy;
  out.policies.by_name = [&played](std::string_view name) -> result<serve::policy_ptr> {
    for (const auto& key : played.keys) {
      if (key.name() == name) return std::make_shared<const route_policy>(key.policy);
    }
    return error(errc::invalid_argument, "there is no such policy");
  };
  for (const auto& key : played.keys) {
    out.policies.named.push_back(std::make_shared<const route_policy>(key.policy));
  }
  return out;
}

asio::awaitable<void> serve_connection(std::unique_ptr<serve::connection> served) {
  co_await served->run();
}

/// As server::state::tend().
asio::awaitable<void> tend(serve::decisions& service) {
  for (;;) {
    co_await sleep_for(milliseconds(100));
    service.operations().let_go_of_old();
  }
}

void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

struct decision_service::process {
  process(world& around, machine& node, const store_machines& stores, const scene& played)
      : records(around, node, stores, played.replays_without_truth),
        engine(records.get(), played.engine, budget),
        held(engine, records.get(), budget),
        params(service_params()),
        access(params),
        service(held.get(), params),
        context{service, params, access, byte_budget(service_memory)} {}

  process_store records;
  byte_budget budget{service_memory};
  onceguard::engine engine;
  guard_outside held;
  const serve::serve_params params;
  serve::client_access access;
  serve::decisions service;
  serve::connection_context context;
};

decision_service::decision_service(world& around, machine& node, store_machines records,
                                   const scene& played)
    : machine_process(around, node), stores_(records), scene_(played) {}

decision_service::~decision_service() {
  if (process_) crash();
}

void decision_service::begin() {
  process_ = std::make_unique<process>(around(), node(), stores_, scene_);
  process_->service.set_rules(rules_of(scene_)).value();
  process_->engine.start(*node().loop);
  asio::co_spawn(*node().loop, tend(process_->service), rethrow);
}

void decision_service::stop() {
  process_->service.operations().let_go_of_all();
  process_->engine.stop();
}

void decision_service::end() { process_.reset(); }

void decision_service::shut_down() { process_->service.drain(); }

bool decision_service::draining() const { return process_ && process_->service.draining(); }

std::size_t decision_service::unfinished() const {
  if (!process_) return 0;
  const auto gauges = process_->engine.gauges();
  return process_->engine.pending() + gauges.leases + gauges.waiters + process_->context.calls +
         process_->service.operations().size();
}

void decision_service::accept(int number) {
  http1::stream_socket socket(*node().loop);
  socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), number);
  auto made = std::make_unique<serve::connection>(std::move(socket), *node().loop,
                                                  process_->context, nullptr);
  asio::co_spawn(*node().loop, serve_connection(std::move(made)), rethrow);
}

}  // namespace onceguard::sim
