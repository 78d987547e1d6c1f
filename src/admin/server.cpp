#include "admin/server.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <sys/stat.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "admin/connection.hpp"
#include "admin/socket_file.hpp"
#include "admin/tokens.hpp"
#include "base/address.hpp"
#include "base/log.hpp"
#include "engine/background.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using boost::system::error_code;
using stream = asio::generic::stream_protocol;
using local_stream = asio::local::stream_protocol;

namespace {

constexpr std::size_t connections_max = 128;
// Requests in progress, less than there may be connections: so one of these can always go, and
// health, which counts for nothing, can always be asked.
constexpr std::size_t requests_max = 64;
constexpr std::size_t viewers_requests_max = 48;
constexpr mode_t socket_mode = S_IRUSR | S_IWUSR;

/// Whether a browser would send this Host for a name that somebody else's page has taken over (DNS
/// rebinding): without tokens the address alone must not be enough.
bool is_plain_host(std::string_view host) {
  const auto authority = base::parse_authority(host, std::uint16_t{80});
  if (!authority) return false;
  if (base::iequals(authority->host, "localhost")) return true;
  error_code failed;
  asio::ip::make_address(authority->host, failed);
  return !failed;
}

/// Whether a page of another site could make a browser send this request unasked.
bool is_forgeable(const http1::head& head) {
  const auto* type = base::find_field(head.fields, "content-type");
  if (head.method != "POST" || type == nullptr) return head.method == "POST";
  const std::string_view value = type->value;
  return !base::iequals(base::trim(value.substr(0, value.find(';'))), "application/json");
}

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

struct client {
  connection stream;
  access shown = access::open;  ///< by the token of its last request
};

}  // namespace

struct server::state {
  explicit state(const gateway::admin_params& given) : params(given), bound(given.address) {}
  ~state();

  result<void> listen();
  result<void> find_endpoint(stream::endpoint& out);
  result<void> free_socket_file();
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(stream_socket socket);
  asio::awaitable<response> answer(request& request);
  [[nodiscard]] std::optional<response> refuse(const http1::head& head, request& request) const;
  [[nodiscard]] bool make_room();
  [[nodiscard]] tokens tokens_in_force() const {
    const std::lock_guard lock(mutex);
    return tokens_now;
  }

  const gateway::admin_params params;
  base::server_address bound;
  resources all;
  std::vector<client*> clients;  // those that are not closed from outside
  act_count acts;
  std::size_t requests = 0;  // in progress, of those that count
  ino_t socket_inode = 0;    // of the file that this process made; 0: none
  mutable std::mutex mutex;
  tokens tokens_now;  // under the mutex; null: no token is needed
  std::thread thread;
  asio::io_context io{1};  // ends before what its coroutines use
  std::optional<asio::basic_socket_acceptor<stream>> acceptor;
};

server::state::~state() {
  io.stop();
  if (thread.joinable()) thread.join();
  struct stat about {};
  // Another process may have put a socket of its own there.
  if (socket_inode != 0 && ::stat(bound.socket_path.c_str(), &about) == 0 &&
      about.st_ino == socket_inode) {
    ::unlink(bound.socket_path.c_str());
  }
}

/// Removes the socket that a process left behind which was killed.
result<void> server::state::free_socket_file() {
  const auto& path = params.address.socket_path;
  switch (examine_socket_file(path).found) {
    case socket_file::kind::none:
      break;
    case socket_file::kind::other:
      return error(errc::conflict, "admin " + params.address.text() + ": no socket");
    case socket_file::kind::live:
      return error(errc::conflict,
                   "admin " + params.address.text() + ": another process listens there");
    case socket_file::kind::stale:
      ::unlink(path.c_str());
      break;
  }
  return {};
}

result<void> server::state::find_endpoint(stream::endpoint& out) {
  if (params.address.is_socket()) {
    out = local_stream::endpoint(params.address.socket_path);
    return free_socket_file();
  }
  error_code failed;
  asio::ip::tcp::resolver resolver(io);
  const auto& tcp = params.address.tcp;
  const auto found = resolver.resolve(tcp.host, std::to_string(tcp.port),
                                      asio::ip::tcp::resolver::passive, failed);
  if (failed) {
    return error(errc::conflict,
                 "admin " + params.address.text() + ": resolve: " + failed.message());
  }
  out = found.begin()->endpoint();
  return {};
}

result<void> server::state::listen() {
  stream::endpoint endpoint;
  if (auto found = find_endpoint(endpoint); !found) return found;
  error_code ec;
  const auto failed = [&](const std::string& step) {
    return error(errc::conflict,
                 "admin " + params.address.text() + ": " + step + ": " + ec.message());
  };
  acceptor.emplace(io);
  if (acceptor->open(endpoint.protocol(), ec); ec) return failed("socket");
  if (!params.address.is_socket()) {
    acceptor->set_option(asio::socket_base::reuse_address(true), ec);
  }
  if (acceptor->bind(endpoint, ec); ec) return failed("bind");
  if (params.address.is_socket()) {
    struct stat about {};
    const auto* path = params.address.socket_path.c_str();
    // Nobody can connect before listen().
    if (::chmod(path, socket_mode) != 0 || ::stat(path, &about) != 0) {
      ec = error_code(errno, boost::system::system_category());
      return failed("chmod");
    }
    socket_inode = about.st_ino;
  }
  if (acceptor->listen(128, ec); ec) return failed("listen");
  if (!params.address.is_socket()) {
    const auto local = acceptor->local_endpoint(ec);
    if (ec) return failed("getsockname");
    asio::ip::tcp::endpoint tcp;
    tcp.resize(local.size());
    std::copy_n(reinterpret_cast<const char*>(local.data()), local.size(),
                reinterpret_cast<char*>(tcp.data()));
    bound.tcp = {tcp.address().to_string(), tcp.port()};
  }
  return {};
}

asio::awaitable<void> server::state::accept() {
  for (;;) {
    error_code failed;
    stream_socket socket(io);
    co_await acceptor->async_accept(socket, asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {
      base::log(base::event::accept_failed, {{"why", failed.message()}});
      co_await sleep_for(milliseconds(100));
    } else if (clients.size() < connections_max || make_room()) {
      spawn_background(io, "serve an admin connection", serve(std::move(socket)));
    }  // else it is closed
  }
}

/// Ends the client that has been silent for the longest time, one without a token first and an
/// operator last, so that clients that only hold connections take nothing away. False: all are at
/// work.
bool server::state::make_room() {
  const auto later = [](const client* a, const client* b) {
    const auto rank = [](const client* one) {
      return std::tuple(one->stream.busy(), one->shown, one->stream.waits_since());
    };
    return rank(a) < rank(b);
  };
  const auto longest = std::min_element(clients.begin(), clients.end(), later);
  if ((*longest)->stream.busy()) return false;
  (*longest)->stream.close();
  clients.erase(longest);
  return true;
}

asio::awaitable<void> server::state::serve(stream_socket socket) {
  struct listed {
    listed(std::vector<client*>& all, client& one) : all_(all), one_(one) { all.push_back(&one); }
    ~listed() { std::erase(all_, &one_); }
    listed(const listed&) = delete;
    listed& operator=(const listed&) = delete;
    std::vector<client*>& all_;
    client& one_;
  };
  client client{connection(std::move(socket), io)};
  const listed entry(clients, client);
  for (bool keep = true; keep; client.stream.reset()) {
    if (!co_await client.stream.read_head()) co_return;
    request request;
    request.method = client.stream.head().method;
    auto reply = refuse(client.stream.head(), request);
    client.shown = tokens_in_force() ? request.sender.granted : access::open;
    // The body is read in any case: the next request stands behind it.
    if (!co_await client.stream.read_body(request.body)) co_return;
    std::optional<act_in_progress> act;
    if (request.method == "POST") act.emplace(acts);
    client.stream.set_busy(true);
    if (!reply) reply = co_await answer(request);
    client.stream.set_busy(false);
    keep = co_await client.stream.send(*reply);
  }
}

/// Who the caller is, and why the request is refused whatever it asks for.
std::optional<response> server::state::refuse(const http1::head& head, request& request) const {
  if (!read_target(head.target, request)) return refusal(400, "The target is no path.");
  if (const auto known = tokens_in_force()) {
    const auto* field = base::find_field(head.fields, "authorization");
    if (field != nullptr) request.sender = known->find(field->value);
    if (field != nullptr && request.sender.granted == access::open) {
      return refusal(401, "The token is not known.");
    }
    return std::nullopt;
  }
  request.sender = {access::act, "operator"};
  if (params.address.is_socket()) return std::nullopt;
  const auto* host = base::find_field(head.fields, "host");
  if (host != nullptr && !is_plain_host(host->value)) {
    return refusal(403, "Without tokens, the host must be an address or \"localhost\".");
  }
  if (is_forgeable(head)) {
    return refusal(415, "Without tokens, a POST needs \"Content-Type: application/json\".");
  }
  return std::nullopt;
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

server::server(const gateway::admin_params& params) : state_(std::make_unique<state>(params)) {}
server::~server() = default;

void server::add(resources more) {
  std::move(more.begin(), more.end(), std::back_inserter(state_->all));
}

asio::io_context& server::io() noexcept { return state_->io; }

result<void> server::start() {
  auto read = read_tokens();
  if (!read) return read.error();
  set_tokens(*std::move(read));
  if (auto listening = state_->listen(); !listening) return listening;
  spawn_background(state_->io, "accept admin connections", state_->accept());
  state_->thread = std::thread([&io = state_->io] {
    const auto work = asio::make_work_guard(io);
    io.run();
  });
  return {};
}

base::server_address server::local() const { return state_->bound; }

result<server::tokens> server::read_tokens() const {
  if (state_->params.token_file.empty()) return tokens();
  auto read = token_list::read(state_->params.token_file);
  if (!read) return read.error();
  return tokens(std::make_shared<const token_list>(*std::move(read)));
}

void server::set_tokens(tokens read) {
  const std::lock_guard lock(state_->mutex);
  state_->tokens_now = std::move(read);
}

void server::wait_for_acts(base::boot_clock::time_point until) const { state_->acts.wait(until); }

}  // namespace onceguard::admin
