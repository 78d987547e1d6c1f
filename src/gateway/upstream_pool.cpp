#include "gateway/upstream_pool.hpp"

#include "base/clock.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kept_max = 256;         // per upstream and I/O thread
constexpr std::chrono::seconds fresh_for{1};  // longer, and a race with its end is likely

std::string text_of(const endpoint& to) { return to.host + ':' + std::to_string(to.port); }

}  // namespace

upstream_pool::upstream_pool(asio::io_context& io, const gateway_params& params, host_names& names)
    : io_(io),
      names_(names),
      limits_{.head_bytes_max = params.max_header_bytes,
              .header_count_max = params.max_header_count},
      connect_timeout_(params.connect_timeout),
      idle_timeout_(params.idle_timeout) {}

upstream_ptr upstream_pool::take_kept(const std::string& address, bool fresh_enough) {
  const auto shelf = kept_.find(address);
  if (shelf == kept_.end()) return nullptr;
  const auto now = base::steady_now();
  auto& kept = shelf->second;
  while (!kept.empty()) {
    const auto idle = now - kept.back()->idle_since;
    if (idle > idle_timeout_) {
      kept.clear();  // those below it are older still
      return nullptr;
    }
    if (fresh_enough && idle >= fresh_for) return nullptr;
    auto connection = std::move(kept.back());
    kept.pop_back();
    if (connection->stream.quiet_and_open()) {
      connection->reused = true;
      return connection;
    }
  }
  return nullptr;
}

asio::awaitable<result<upstream_ptr>> upstream_pool::take(const endpoint& to, bool fresh_enough) {
  if (auto kept = take_kept(text_of(to), fresh_enough)) co_return std::move(kept);
  co_return co_await connect(to);
}

/// Its time is for the look-up and all addresses together: each gets its share of what is left, so
/// that one which swallows everything does not take the time of the next.
asio::awaitable<result<upstream_ptr>> upstream_pool::connect(const endpoint& to) {
  auto address = text_of(to);
  const auto until = base::steady_now() + connect_timeout_;
  const auto found = co_await names_.find(to.host, connect_timeout_);
  if (!found) co_return found.error();
  error_code ec = asio::error::host_not_found;
  auto untried = static_cast<std::int64_t>(found->size());
  for (const auto& one : *found) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::steady_now());
    const auto share = std::max(left / untried--, milliseconds(1));
    auto connection = std::make_unique<upstream_connection>(tcp::socket(io_), io_, limits_);
    ec = co_await connection->stream.connect(tcp::endpoint(one, to.port), share);
    if (!ec) {
      connection->address = std::move(address);
      co_return std::move(connection);
    }
  }
  co_return error(errc::overloaded, "connecting to " + address + ": " + ec.message());
}

void upstream_pool::keep(upstream_ptr connection) {
  auto& kept = kept_[connection->address];
  if (kept.size() >= kept_max) return;
  connection->reader.reset();
  if (!connection->reader.idle()) return;  // bytes that nobody asked for
  connection->idle_since = base::steady_now();
  kept.push_back(std::move(connection));
}

}  // namespace onceguard::gateway
