#include "gateway/upstream_pool.hpp"

#include <deque>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/address.hpp"
#include "base/clock.hpp"
#include "tls/session.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = base::boot_clock;

namespace {

constexpr std::size_t kept_max = 256;  // per upstream and I/O thread
// After a longer idle time, a race with the end of the connection is likely.
constexpr std::chrono::seconds suspect_for{1};

}  // namespace

/// The idle connections to one address. A request takes the most recently used one, so that the
/// others grow old and are closed.
class upstream_pool::idle_connections final : public base::deadline {
 public:
  idle_connections(base::timer_wheel& wheel, milliseconds idle_timeout, const endpoint& address,
                   suspect_upstreams& suspects)
      : wheel_(wheel), idle_timeout_(idle_timeout), address_(address), suspects_(suspects) {}

  [[nodiscard]] upstream_ptr take(bool guarded) {
    const auto now = base::boot_now();
    close_idle(now);
    while (!kept_.empty()) {
      auto& latest = *kept_.back();
      latest.idle_when_taken = now - latest.idle_since;
      const bool fresh = latest.idle_when_taken < suspect_for;
      const bool open = latest.stream.quiet_and_open();
      if (fresh && !open) suspects_.suspect(address_);
      if (guarded && (!fresh || suspects_.suspected(address_, now))) {
        // A new connection will be made and replaces the oldest one. Otherwise idle connections
        // would accumulate here and in the upstream with each burst of requests.
        kept_.pop_front();
        break;
      }
      auto taken = std::move(kept_.back());
      kept_.pop_back();
      if (open) return taken;
    }
    return nullptr;
  }

  void put(upstream_ptr connection) {
    if (kept_.size() >= kept_max) kept_.pop_front();
    connection->idle_since = base::boot_now();
    kept_.push_back(std::move(connection));
    if (!armed()) arm(wheel_, idle_timeout_);
  }

 private:
  void close_idle(clock::time_point now) {
    while (!kept_.empty() && now - kept_.front()->idle_since >= idle_timeout_) kept_.pop_front();
  }
  void expired() override {
    const auto now = base::boot_now();
    close_idle(now);
    if (kept_.empty()) return;
    const auto left = kept_.front()->idle_since + idle_timeout_ - now;
    arm(wheel_, std::chrono::ceil<milliseconds>(left));
  }

  base::timer_wheel& wheel_;
  const milliseconds idle_timeout_;
  const endpoint address_;
  suspect_upstreams& suspects_;
  std::deque<upstream_ptr> kept_;  // the most recently used at the back
};

upstream_pool::upstream_pool(asio::io_context& io, const gateway_params& params, host_lookup& names,
                             suspect_upstreams& suspects)
    : io_(io),
      names_(names),
      suspects_(suspects),
      limits_{.head_bytes_max = params.max_header_bytes,
              .header_count_max = params.max_header_count},
      connect_timeout_(params.connect_timeout),
      idle_timeout_(params.idle_timeout) {}

upstream_pool::~upstream_pool() = default;

upstream_ptr upstream_pool::take_kept(const endpoint& endpoint, bool guarded) {
  const auto target = shelves_.find(endpoint);
  auto kept = target == shelves_.end() ? nullptr : target->second->take(guarded);
  if (kept) kept->reused = true;
  return kept;
}

asio::awaitable<result<upstream_ptr>> upstream_pool::take(const endpoint& endpoint, bool guarded) {
  if (auto kept = take_kept(endpoint, guarded)) co_return std::move(kept);
  co_return co_await connect_onward(endpoint);
}

asio::awaitable<result<upstream_ptr>> upstream_pool::connect_onward(const endpoint& endpoint) {
  auto made = co_await connect(endpoint);
  if (made && leads_back((*made)->stream.raw())) {
    co_return error(errc::conflict, text_of(endpoint) + " is this gateway itself");
  }
  co_return std::move(made);
}

/// A connection from a machine to itself has the same address at both ends, or two addresses of the
/// loopback device.
bool upstream_pool::leads_back(tcp::socket& socket) const {
  error_code ec;
  const auto local = socket.local_endpoint(ec);
  if (ec || listener_.port() == 0) return false;
  const auto peer = socket.remote_endpoint(ec);
  if (ec || peer.port() != listener_.port()) return false;
  const auto address = peer.address();
  if (address != local.address() && !address.is_loopback()) return false;
  if (listener_.address().is_unspecified()) return listener_.address().is_v6() || address.is_v4();
  return listener_.address() == address;
}

/// The timeout covers the look-up and all addresses together.
asio::awaitable<result<upstream_ptr>> upstream_pool::connect(const endpoint& peer) {
  const auto until = base::boot_now() + connect_timeout_;
  const auto left = [until] {
    const auto rest = std::chrono::ceil<milliseconds>(until - base::boot_now());
    return std::max(rest, milliseconds(1));
  };
  const auto found = co_await names_.find(peer.host, connect_timeout_);
  if (!found) co_return found.error();
  auto connection = std::make_unique<upstream_connection>(tcp::socket(io_), io_, limits_);
  const auto failed = co_await connection->stream.connect(*found, peer.port, left());
  if (failed) {
    co_return error(errc::overloaded, "connecting to " + text_of(peer) + ": " + failed.message());
  }
  connection->address = peer;
  if (peer.secure) {
    const auto secured = co_await secure(*connection, left());
    if (!secured) co_return secured.error();
  }
  co_return std::move(connection);
}

asio::awaitable<result<void>> upstream_pool::secure(upstream_connection& connection,
                                                    milliseconds timeout) {
  const auto& peer = connection.address;
  const auto failed = [&peer](const std::string& why) {
    return error(errc::overloaded, "TLS with " + text_of(peer) + ": " + why);
  };
  if (!peer.tls && !usual_tls_) {
    auto made = tls::make_client_context({});
    if (!made) co_return failed(made.error().detail);
    usual_tls_ = std::move(*made);
  }
  const auto& settings = peer.tls ? peer.tls->context : usual_tls_;
  const auto& name = peer.tls && !peer.tls->name.empty() ? peer.tls->name : peer.host;
  auto& stream = connection.stream;
  const int socket = stream.raw().native_handle();
  const auto failure =
      co_await stream.secure(tls::session::connect(settings, socket, name), timeout);
  if (!failure) co_return result<void>();
  const auto* encryption = stream.encryption();
  const bool refused = failure == asio::error::connection_refused && encryption != nullptr;
  co_return failed(refused ? encryption->failure() : failure.message());
}

std::string upstream_connection::why() const {
  const auto* const tls = stream.encryption();
  if (tls == nullptr || tls->failure().empty()) return {};
  const auto* const refused = tls->was_refused() ? "it refused this gateway's certificate: " : "";
  return "TLS with " + text_of(address) + ": " + refused + tls->failure();
}

void upstream_pool::keep(upstream_ptr connection) {
  connection->reader.reset();
  if (!connection->reader.idle()) return;  // the upstream sent unexpected bytes
  auto& target = shelves_[connection->address];
  if (!target) {
    target = std::make_unique<idle_connections>(base::timer_wheel::of(io_), idle_timeout_,
                                                connection->address, suspects_);
  }
  target->put(std::move(connection));
}

void upstream_pool::broke(const upstream_connection& connection) {
  const bool unannounced = connection.reused && connection.reader.idle();
  if (unannounced && connection.idle_when_taken < suspect_for)
    suspects_.suspect(connection.address);
}

void upstream_pool::clear() { shelves_.clear(); }

}  // namespace onceguard::gateway
