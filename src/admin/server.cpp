#include "admin/server.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "admin/authentication.hpp"
#include "admin/caller_connection.hpp"
#include "admin/gzip.hpp"
#include "admin/web_page.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"
#include "http1/server/listener.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t connections_max = 128;
// Requests in progress, less than there may be connections: so one of these can always go, and
// health, which counts for nothing, can always be asked.
constexpr std::size_t requests_max = 64;
constexpr std::size_t viewers_requests_max = 48;

/// The acts in progress. Thread-safe.
class act_count {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++number_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--number_ == 0) none_.notify_all();
  }
  void wait(base::boot_clock::time_point until) {
    std::unique_lock lock(mutex_);
    none_.wait_for(lock, until - base::boot_now(), [this] { return number_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t number_ = 0;
};

struct act_in_progress {
  explicit act_in_progress(act_count& acts) : all(acts) { all.begin(); }
  ~act_in_progress() { all.end(); }
  act_in_progress(const act_in_progress&) = delete;
  act_in_progress& operator=(const act_in_progress&) = delete;
  act_count& all;
};

struct counted_request {
  counted_request(std::size_t& all, bool counts) : all_(all), weight_(counts ? 1 : 0) {
    all_ += weight_;
  }
  ~counted_request() { all_ -= weight_; }
  counted_request(const counted_request&) = delete;
  counted_request& operator=(const counted_request&) = delete;

 private:
  std::size_t& all_;
  const std::size_t weight_;
};

}  // namespace

struct server::state {
  state(const admin_params& given, std::shared_ptr<sign_ins> kept)
      : params(given), callers(params, std::move(kept)) {}
  ~state();

  void begin();
  void take(http1::stream_socket socket);
  asio::awaitable<void> serve(http1::stream_socket socket);
  asio::awaitable<response> answer(request& request);
  [[nodiscard]] bool make_room();

  const admin_params params;
  authentication callers;
  resources all;
  std::vector<caller_connection*> clients;  // those that are not closed from outside
  act_count acts;
  std::size_t requests = 0;  // in progress, of those that count
  std::thread thread;
  asio::io_context io{1};  // ends before what its coroutines use
  http1::listener listener{io};
};

server::state::~state() {
  io.stop();
  if (thread.joinable()) thread.join();
}

void server::state::begin() {
  const auto complain = [](const std::string& why) {
    base::log(base::event::accept_failed, {{"why", why}});
  };
  auto accepting =
      listener.accept([this](http1::stream_socket socket) { take(std::move(socket)); }, complain);
  spawn_background(io, "accept admin connections", std::move(accepting));
  thread = std::thread([this] {
    const auto work = asio::make_work_guard(io);
    io.run();
  });
}

void server::state::take(http1::stream_socket socket) {
  // Else it is closed.
  if (clients.size() < connections_max || make_room()) {
    spawn_background(io, "serve an admin connection", serve(std::move(socket)));
  }
}

/// Ends the client that has been silent for the longest time, one without a token first and an
/// operator last, so that clients that only hold connections take nothing away. False: all are at
/// work.
bool server::state::make_room() {
  const auto later = [](const caller_connection* a, const caller_connection* b) {
    const auto rank = [](const caller_connection* one) {
      return std::tuple(one->busy(), one->shown, one->waits_since());
    };
    return rank(a) < rank(b);
  };
  const auto longest = std::min_element(clients.begin(), clients.end(), later);
  if ((*longest)->busy()) return false;
  (*longest)->close();
  clients.erase(longest);
  return true;
}

asio::awaitable<void> server::state::serve(http1::stream_socket socket) {
  struct listed {
    listed(std::vector<caller_connection*>& all, caller_connection& one) : all_(all), one_(one) {
      all.push_back(&one);
    }
    ~listed() { std::erase(all_, &one_); }
    listed(const listed&) = delete;
    listed& operator=(const listed&) = delete;
    std::vector<caller_connection*>& all_;
    caller_connection& one_;
  };
  caller_connection client(std::move(socket), io);
  const listed entry(clients, client);
  for (bool keep = true; keep; client.reset()) {
    if (!co_await client.read_head()) co_return;
    request request;
    request.method = client.head().method;
    std::optional<response> reply;
    if (!read_target(client.head().target, request)) {
      reply = refusal(400, "The target is no path.");
    } else {
      request.takes_gzip = takes_gzip(client.head().fields);
      reply = callers.check(client.head(), request);
    }
    client.shown = callers.needs_token() ? request.sender.granted : access::open;
    // The body is read in any case: the next request stands behind it.
    if (!co_await client.read_body(request.body)) co_return;
    std::optional<act_in_progress> act;
    if (request.method == "POST") act.emplace(acts);
    client.set_busy(true);
    if (!reply) reply = co_await answer(request);
    client.set_busy(false);
    keep = co_await client.send(*reply);
  }
}

asio::awaitable<response> server::state::answer(request& request) {
  const auto [found, allowed] = find_resource(all, request);
  if (found == nullptr) {
    if (request.sender.granted == access::open) co_return refusal(401, "A token is needed.");
    if (allowed.empty()) co_return refusal(404, "There is no such path.");
    auto out = refusal(405, "This path takes " + allowed + ".");
    out.fields = "Allow: " + allowed + "\r\n";
    co_return out;
  }
  if (request.sender.granted < found->needed) {
    if (request.sender.granted == access::open) co_return refusal(401, "A token is needed.");
    co_return refusal(403, "A viewer may read only; this needs an operator's token.");
  }
  const bool counts = found->needed != access::open;
  const auto most = request.sender.granted == access::act ? requests_max : viewers_requests_max;
  if (counts && requests >= most) {
    auto busy = refusal(503, "Too many requests are in progress; ask again.");
    busy.fields = "Retry-After: 1\r\n";
    co_return busy;
  }
  const counted_request one(requests, counts);
  try {
    co_return co_await found->handle(request);
  } catch (const std::exception& failure) {
    base::log(base::event::background_work_failed,
              {{"task", "admin " + request.path}, {"why", failure.what()}});
  }
  co_return refusal(500, "A fault of Onceguard itself; its log has more.");
}

server::server(const admin_params& params, std::shared_ptr<sign_ins> kept)
    : state_(std::make_unique<state>(params, std::move(kept))) {}
server::~server() = default;

void server::add(resources more) {
  std::move(more.begin(), more.end(), std::back_inserter(state_->all));
}

void server::add_page(std::string_view serves) {
  add(page_resources());
  add(state_->callers.sign_in_resources([this] { return local().tcp.port; }, serves));
}

asio::io_context& server::io() noexcept { return state_->io; }

result<void> server::start(const http1::passed_listener& passed) {
  auto read = read_tokens();
  if (!read) return read.error();
  set_tokens(*std::move(read));
  auto& listener = state_->listener;
  const auto& address = state_->params.address;
  if (auto listening =
          passed.number < 0 ? listener.listen(address) : listener.take(address, passed);
      !listening) {
    return error(listening.error().code, "admin " + listening.error().detail);
  }
  state_->begin();
  return {};
}

int server::socket() const { return state_->listener.number(); }

bool server::made_file() const { return state_->listener.made_file(); }

void server::hand_over(bool socket_goes_on) {
  asio::post(state_->io, [this, socket_goes_on] { state_->listener.hand_over(socket_goes_on); });
}

base::server_address server::local() const { return state_->listener.local(); }

result<server::tokens> server::read_tokens() const { return state_->callers.read_tokens(); }

void server::set_tokens(tokens read) { state_->callers.set_tokens(std::move(read)); }

void server::wait_for_acts(base::boot_clock::time_point until) const { state_->acts.wait(until); }

}  // namespace onceguard::admin
