#include "serve/server.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "http1/server/listener.hpp"
#include "serve/client_access.hpp"
#include "serve/connection.hpp"
#include "tls/listener_tls.hpp"

namespace onceguard::serve {

namespace asio = boost::asio;

namespace {

constexpr std::string_view full_answer =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
    "Content-Length: 0\r\n\r\n";
/// Between two polls at the operations, and at what a drain waits for.
constexpr milliseconds poll_interval{100};

/// A thread with the connections that it serves.
class io_thread {
 public:
  void serve(http1::stream_socket::native_handle_type number, int family,
             connection_context& context, std::atomic<std::size_t>& connections,
             tls::context settings) {
    asio::post(io, [this, number, family, &context, &connections, settings = std::move(settings)] {
      http1::stream_socket socket(io);
      boost::system::error_code failed;
      socket.assign(asio::generic::stream_protocol(family, 0), number, failed);
      if (failed) {
        --connections;
        return;
      }
      auto made = std::make_unique<connection>(std::move(socket), io, context, settings);
      asio::co_spawn(io, run(std::move(made)), [&connections](std::exception_ptr thrown) {
        --connections;
        if (thrown) log_fault(thrown);
      });
    });
  }

  void begin() {
    thread = std::thread([this] { io.run(); });
  }

  asio::io_context io{1};
  std::thread thread;

 private:
  static asio::awaitable<void> run(std::unique_ptr<connection> served) { co_await served->run(); }

  static void log_fault(std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& e) {
      base::log(base::event::background_work_failed,
                {{"task", "a connection of the decision service"}, {"why", e.what()}});
    }
  }

  // The thread goes on while nobody is connected.
  asio::executor_work_guard<asio::io_context::executor_type> busy_{io.get_executor()};
};

}  // namespace

struct server::state {
  state(guard& records, serve_params given)
      : params(std::move(given)),
        certificates({params.tls_certificate, params.tls_key, params.tls_client_ca}),
        access(params),
        service(records, params),
        context{service, params, access, byte_budget(params.max_messages)} {}

  void take(http1::stream_socket socket) {
    if (connections.load() >= params.max_connections) {
      ++refused;
      boost::system::error_code ignored;
      socket.non_blocking(true, ignored);
      socket.send(asio::buffer(full_answer), 0, ignored);
      return;
    }
    boost::system::error_code failed;
    const int family = socket.local_endpoint(failed).protocol().family();
    const auto number = socket.release(failed);
    if (failed) return;
    ++connections;
    auto& next = *threads[turn++ % threads.size()];
    next.serve(number, family, context, connections, certificates.latest());
  }

  asio::awaitable<void> tend() {
    while (!stopped) {
      co_await sleep_for(poll_interval);
      service.operations().let_go_of_old();
      if (!service.draining()) continue;
      const bool idle = service.operations().size() == 0 && context.calls == 0;
      if (idle || base::boot_now() >= drain_end.load()) end();
    }
  }

  void end() {
    if (std::exchange(stopped, true)) return;
    listening.close();
    // A successor may take the settles of what still runs.
    service.operations().let_go_of_all();
    for (auto& each : threads) each->io.stop();
    accepting.stop();
  }

  const serve_params params;
  tls::listener_tls certificates;
  client_access access;
  decisions service;
  connection_context context;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<base::boot_clock::time_point> drain_end{};
  std::vector<std::unique_ptr<io_thread>> threads;
  std::size_t turn = 0;
  std::thread acceptor;
  bool stopped = false;  // on the first thread
  asio::io_context accepting{1};
  http1::listener listening{accepting};
};

server::server(guard& records, const serve_params& params)
    : state_(std::make_unique<state>(records, params)) {}

server::~server() {
  stop();
  wait();
}

result<void> server::set_rules(serve_rules rules) {
  auto& self = *state_;
  auto tokens = self.access.read();
  if (!tokens) return tokens.error();
  if (auto set = self.service.set_rules(std::move(rules)); !set) return set;
  self.access.set(*std::move(tokens));
  if (!self.threads.empty()) self.certificates.reread();
  return {};
}

result<void> server::start(const http1::passed_listener& passed) {
  auto& self = *state_;
  if (const auto read = self.certificates.read(); !read) {
    return error(read.error().code, "[serve] tls_certificate: " + read.error().detail);
  }
  const auto& address = self.params.listen;
  if (auto listening = passed.number < 0 ? self.listening.listen(address, self.params.mode)
                                         : self.listening.take(address, passed);
      !listening) {
    return error(listening.error().code, "[serve] listen: " + listening.error().detail);
  }
  const auto cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const auto count = self.params.threads == 0 ? cores : self.params.threads;
  for (std::size_t i = 0; i < count; ++i) {
    auto& made = *self.threads.emplace_back(std::make_unique<io_thread>());
    made.begin();
  }
  auto accepting =
      self.listening.accept([&self](http1::stream_socket socket) { self.take(std::move(socket)); },
                            [](const std::string& why) {
                              base::log(base::event::accept_failed, {{"why", why}});
                            });
  spawn_background(self.accepting, "accept clients", std::move(accepting));
  spawn_background(self.accepting, "look after operations", self.tend());
  self.acceptor = std::thread([&self] { self.accepting.run(); });
  return {};
}

int server::socket() const { return state_->listening.number(); }

bool server::made_file() const { return state_->listening.made_file(); }

void server::hand_over(bool socket_goes_on) {
  // Whoever hears that this process drains finds the successor at the next connection.
  asio::post(state_->accepting, [this, socket_goes_on] {
    state_->listening.hand_over(socket_goes_on);
    drain();
  });
}

base::server_address server::local() const { return state_->listening.local(); }

void server::drain() {
  auto& self = *state_;
  self.drain_end = base::boot_now() + self.params.drain;
  self.service.drain();
}

bool server::draining() const { return state_->service.draining(); }

void server::stop() {
  asio::post(state_->accepting, [self = state_.get()] { self->end(); });
}

void server::wait() {
  auto& self = *state_;
  if (self.acceptor.joinable()) self.acceptor.join();
  for (auto& each : self.threads) {
    if (each->thread.joinable()) each->thread.join();
  }
}

server_load server::load() const {
  auto& self = *state_;
  return {self.connections, self.refused, self.service.operations().size(), self.context.calls,
          self.context.messages.used()};
}

}  // namespace onceguard::serve
