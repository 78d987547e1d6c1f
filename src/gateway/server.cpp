#include "gateway/server.hpp"

#include <array>
#include <pthread.h>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "engine/background.hpp"
#include "gateway/io_thread.hpp"
#include "gateway/listeners.hpp"
#include "gateway/liveness.hpp"
#include "gateway/overtime.hpp"
#include "gateway/reconciling.hpp"
#include "gateway/session.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

engine_params make_engine_params(const gateway_params& p, const routing_params& routing) {
  engine_params out;
  out.store_timeout = p.store_timeout;
  out.settle_wait = p.settle_wait;
  out.sweep_interval = p.sweep_interval;
  out.replay_cache = p.replay_cache;
  out.max_waiters = p.max_waiters;
  out.after_loss = p.after_loss;
  out.state_dir = p.state_dir;
  out.loss_quiet = out.longest_retention = milliseconds(0);
  for (const auto& r : routing.routes) {
    out.loss_quiet = std::max(out.loss_quiet, r.policy.lease + r.policy.upstream_timeout);
    out.longest_retention = std::max(out.longest_retention, r.policy.retention);
  }
  return out;
}

unsigned thread_count(unsigned wanted) {
  return wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

/// Another one for each process: two gateways behind each other are no circle.
std::string make_loop_mark() {
  std::array<unsigned char, 8> random{};
  base::random_bytes(random);
  return "onceguard-" + base::to_hex(random);
}

}  // namespace

gateway_shared::gateway_shared(gateway_params p, const engine_params& for_engine, store& records,
                               request_observers to_tell, const trace::tracer* spans)
    : params(std::move(p)),
      observers(std::move(to_tell)),
      tracer(spans),
      loop_mark(make_loop_mark()),
      budget(params.max_buffered),
      replays(budget),
      tls({params.tls_certificate, params.tls_key, params.tls_client_ca,
           params.tls_client_required}),
      engine(records, for_engine, budget) {
  for (const auto& text : params.trusted_proxies) {
    http::address_block block;
    if (http::address_block::parse(text, block)) trusted.push_back(block);
  }
}

struct server::state {
  state(const gateway_params& params, const routing_params& routing, store& records,
        outcome_source* to_ask, request_observers observers, const trace::tracer* tracer)
      : shared(params, make_engine_params(params, routing), records, std::move(observers), tracer),
        query(to_ask),
        beat(records),
        table(std::make_shared<const routing_table>(routing)) {
    for (unsigned i = 0; i < thread_count(shared.params.threads); ++i) {
      threads.push_back(std::make_unique<io_thread>(shared, table));
    }
    sockets = std::make_unique<listeners>(threads.front()->io);
    for (const auto& thread : threads) beat.watch("an I/O thread", thread->io);
    beat.watch("the thread of the leases", engine_io);
  }

  /// Starts a thread that runs the loop until that is stopped. `name`: in the list of threads.
  void run(asio::io_context& io, const char* name);
  result<void> listen(const std::vector<int>& passed);
  asio::awaitable<void> accept(listeners::acceptor& acceptor);
  /// False: no connection is left to take now.
  bool take_one(listeners::acceptor& acceptor);
  void take(tcp::socket socket, io_thread& thread);
  void stop_listening();
  void admit(tcp::socket socket, io_thread& thread);
  void refuse(tcp::socket socket);
  asio::awaitable<void> finish();
  asio::awaitable<void> stay_after(clock::time_point drain_end);
  asio::awaitable<void> end_reports();
  void end_reading();

  gateway_shared shared;
  outcome_source* const query;
  liveness beat;
  routing_ptr table;  ///< the latest
  /// Of a thread that reads nothing which anybody sent: it renews the leases, polls the store and
  /// repeats settles, so that no request can make a lease run out.
  asio::io_context engine_io{1};
  std::vector<std::unique_ptr<io_thread>> threads;
  std::unique_ptr<listeners> sockets;
  std::size_t turn = 0;  // of the threads, to take a connection
  std::vector<std::thread> running;
  std::atomic<bool> drain_begun{false};
  std::function<bool()> others_ended = [] { return true; };
  bool handed_over = false;  // from the begin of the drain on
  std::atomic<bool> overtime_forbidden{false};
  endpoint local;
};

void server::state::run(asio::io_context& io, const char* name) {
  running.emplace_back([&io, name] {
    ::pthread_setname_np(::pthread_self(), name);
    const auto work = asio::make_work_guard(io);
    io.run();
  });
}

result<void> server::state::listen(const std::vector<int>& passed) {
  auto listening = passed.empty() ? sockets->open(shared.params.listen) : sockets->take(passed);
  if (!listening) return listening;
  const auto& bound = sockets->addresses().front();
  for (auto& thread : threads) thread->pool.set_listener(bound);
  local.host = bound.address().to_string();
  local.port = bound.port();
  return {};
}

void server::state::admit(tcp::socket socket, io_thread& thread) {
  auto start = [&thread, s = std::move(socket)]() mutable {
    auto one = std::make_unique<session>(thread, std::move(s));
    spawn_background(thread.io, "serve a connection", session::run(std::move(one)));
  };
  asio::post(thread.io, std::move(start));
}

/// For a connection beyond `max_connections`.
void server::state::refuse(tcp::socket socket) {
  shared.connections_refused.fetch_add(1, std::memory_order_relaxed);
  base::log(base::event::overloaded, {{"why", "max_connections are open"}});
  // A client that waits for a handshake can't read a refusal in plain text, and it has sent
  // nothing.
  if (!shared.params.tls_certificate.empty()) return;
  std::string refusal;
  const http::problem_detail more(milliseconds(1'000));
  const auto answer =
      http::problem_answer(http::problem::overloaded, shared.params.problem_base, more);
  answer_style style;
  style.then = after_answer::close;
  append_answer_head(refusal, answer, style);
  refusal += answer.body;
  error_code ignored;
  socket.non_blocking(true, ignored);
  // A client that does not receive the refusal at once gets none.
  socket.write_some(asio::buffer(refusal), ignored);
}

void server::state::take(tcp::socket socket, io_thread& thread) {
  if (shared.connections.fetch_add(1) < shared.params.max_connections) {
    return admit(std::move(socket), thread);
  }
  shared.connections.fetch_sub(1);
  refuse(std::move(socket));
}

asio::awaitable<void> server::state::accept(listeners::acceptor& acceptor) {
  while (acceptor.is_open()) {
    auto& target = *threads[turn++ % threads.size()];
    error_code ec;
    auto socket =
        co_await acceptor.async_accept(target.io, asio::redirect_error(asio::use_awaitable, ec));
    if (ec == asio::error::operation_aborted) break;
    if (!ec) {
      take(std::move(socket), target);
      continue;
    }
    // Most likely the process is out of file descriptors: open connections continue, and new ones
    // wait in the backlog.
    base::log(base::event::accept_failed, {{"why", ec.message()}});
    co_await sleep_for(milliseconds(100));
  }
}

bool server::state::take_one(listeners::acceptor& acceptor) {
  auto& target = *threads[turn++ % threads.size()];
  error_code ec;
  tcp::socket socket(target.io);
  acceptor.accept(socket, ec);
  if (!ec) take(std::move(socket), target);
  return !ec;
}

/// With the connections that wait in the queue: their clients believe to be connected. Where
/// another process has the sockets, it takes these.
void server::state::stop_listening() {
  constexpr int queue_max = 4096;
  for (const auto& acceptor : sockets->all()) {
    error_code failed;
    acceptor->non_blocking(true, failed);
    for (int i = 0; !handed_over && !failed && i < queue_max && take_one(*acceptor); ++i) {
    }
  }
  sockets->close();
}

void server::state::end_reading() {
  for (auto& thread : threads) {
    asio::post(thread->io, [&t = *thread] {
      for (auto* one : t.sessions) one->drain();
      t.pool.clear();
    });
  }
}

/// The requests that are in flight at the end of the drain have a line in the access log, too.
asio::awaitable<void> server::state::end_reports() {
  const auto break_off = [](io_thread& thread) -> asio::awaitable<void> {
    for (auto* one : thread.sessions) one->report().break_off();
    co_return;
  };
  for (auto& thread : threads) {
    co_await asio::co_spawn(thread->io, break_off(*thread), asio::use_awaitable);
  }
}

/// Nobody waits for this process, and nobody else knows what the store has yet to take.
asio::awaitable<void> server::state::stay_after(clock::time_point drain_end) {
  overtime beyond(drain_end,
                  drain_end + base::bounded(threads.front()->routing->longest_retention()));
  bool announced = false;
  for (; !overtime_forbidden; co_await sleep_for(milliseconds(10))) {
    const overtime::work_left left{shared.connections, shared.engine.pending(),
                                   shared.engine.health().up};
    if (!beyond.needed(left, base::boot_now())) break;
    if (std::exchange(announced, true)) continue;
    base::log(base::event::drain_outlasted,
              {{"left", left.connections}, {"unrecorded", left.unrecorded}});
  }
}

/// Runs on the first I/O thread after drain(): waits for the sessions and for the settles that are
/// not recorded yet, then ends the engine.
asio::awaitable<void> server::state::finish() {
  const auto begun = base::boot_now();
  const auto end = begun + shared.params.drain;
  // Another process serves meanwhile: nobody waits for this one's end.
  const auto patient_end = begun + shared.params.drain / 5 * 4;
  // Requests that are being sent arrive by then; requests that are sent very slowly do not.
  auto uploads_end = handed_over ? patient_end : begun + shared.params.drain / 5;
  const auto requests_end =
      handed_over ? patient_end : std::min(uploads_end, begun + std::chrono::seconds(1));
  if (handed_over) shared.idle_end = patient_end;
  end_reading();
  const auto busy = [this] {
    return shared.connections != 0 || shared.engine.pending() != 0 || !others_ended();
  };
  while (busy() && base::boot_now() < end) {
    if (base::boot_now() >= requests_end && !shared.requests_end.exchange(true)) end_reading();
    if (base::boot_now() >= uploads_end) {
      shared.uploads_end = true;
      end_reading();  // repeated, because requests that begin later must not be read either
      uploads_end += std::chrono::seconds(1);
    }
    co_await sleep_for(milliseconds(10));
  }
  if (handed_over) co_await stay_after(end);
  co_await shared.engine.end_held_leases();
  // For the witness. The first poll may be one that was sent before the last settle. A failure is
  // logged.
  auto polled = co_await shared.engine.poll_store();
  if (polled) polled = co_await shared.engine.poll_store();
  co_await end_reports();
  shared.engine.stop();
  const auto& count = shared.engine.counters();
  base::log(base::event::drained, {{"left", shared.connections.load()},
                                   {"unrecorded", shared.engine.pending()},
                                   {"runs", count.runs.load()},
                                   {"replays", count.replays + count.cached_replays},
                                   {"incidents", count.incidents.load()}});
  shared.observed.log_counts();
  for (auto& thread : threads) thread->io.stop();
  engine_io.stop();
}

server::server(const gateway_params& params, const routing_params& routing, store& records,
               outcome_source* query, request_observers observers, const trace::tracer* tracer)
    : state_(
          std::make_unique<state>(params, routing, records, query, std::move(observers), tracer)) {}

server::~server() {
  if (!state_) return;
  for (auto& thread : state_->threads) thread->io.stop();
  state_->engine_io.stop();
  wait();
  state_->shared.queues.close();
  state_->shared.names.close();
  state_->shared.engine.stop();
}

result<void> server::start(const std::vector<int>& passed) {
  auto& s = *state_;
  if (auto usable = s.shared.engine.check(); !usable) return usable.error();
  auto audit = audit_log::open(s.shared.params.audit_log);
  if (!audit) return audit.error();
  s.shared.audit = std::move(*audit);
  s.shared.open_audit = s.shared.audit.get();
  if (auto read = s.shared.tls.read(); !read) return read.error();
  if (auto listening = s.listen(passed); !listening) return listening.error();
  auto& first = s.threads.front()->io;
  s.run(s.engine_io, "og-leases");
  for (auto& thread : s.threads) s.run(thread->io, "og-io");
  // Polls here, so that the first requests need not wait for the poll.
  static_cast<void>(
      asio::co_spawn(s.engine_io, s.shared.engine.poll_store(), asio::use_future).get());
  s.shared.engine.start(s.engine_io);
  if (s.shared.params.reconcile_interval.count() > 0) {
    spawn_background(first, "reconcile", keep_reconciling(*s.threads.front(), s.query));
  }
  spawn_background(first, "compare scopes", report_stranded(*s.threads.front(), nullptr));
  for (const auto& acceptor : s.sockets->all()) {
    spawn_background(first, "accept", s.accept(*acceptor));
  }
  return {};
}

const observing::observation& server::observed() const { return state_->shared.observed; }

endpoint server::local() const { return state_->local; }

audit_log* server::audit() const noexcept { return state_->shared.open_audit; }

onceguard::engine& server::engine() noexcept { return state_->shared.engine; }

byte_budget& server::budget() noexcept { return state_->shared.budget; }

void server::end_after(std::function<bool()> ended) { state_->others_ended = std::move(ended); }

gateway_load server::load() const noexcept {
  const auto& shared = state_->shared;
  return {shared.connections,   shared.params.max_connections, shared.connections_refused,
          shared.budget.used(), shared.budget.bytes_max(),     shared.draining};
}

void server::reload(routing_params routing) {
  state_->shared.tls.reread();
  const auto expected = make_engine_params(state_->shared.params, routing);
  state_->shared.engine.expect(expected.loss_quiet, expected.longest_retention);
  const auto table = std::make_shared<const routing_table>(std::move(routing), state_->table.get());
  state_->table = table;
  const auto* first = state_->threads.front().get();
  for (auto& thread : state_->threads) {
    asio::post(thread->io, [&t = *thread, table, first] {
      const auto before = std::exchange(t.routing, table);
      t.scope_hinted.clear();
      if (&t == first) spawn_background(t.io, "compare scopes", report_stranded(t, before));
    });
  }
}

void server::drain(listening_by next) {
  auto& s = *state_;
  if (s.drain_begun.exchange(true)) return;
  s.handed_over = next == listening_by::successor;
  s.shared.draining = true;
  // The sockets are closed in any case.
  asio::post(s.threads.front()->io, [&s] {
    s.stop_listening();
    spawn_background(s.threads.front()->io, "drain", s.finish());
  });
}

void server::forbid_overtime() noexcept { state_->overtime_forbidden = true; }
const std::vector<int>& server::sockets() const noexcept { return state_->sockets->numbers(); }
std::string server::stuck() { return state_->beat.stuck(); }

void server::wait() {
  for (auto& thread : state_->running) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace onceguard::gateway
