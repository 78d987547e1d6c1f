#include "mcp/server_call.hpp"

#include "http1/start_line.hpp"
#include "mcp/server_connection.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

namespace {

/// Servers close idle connections after seconds: one that was idle for less is not yet at its end.
constexpr std::chrono::seconds idle_max{1};

}  // namespace

server_connections::server_connections(asio::io_context& io, const server_address& address)
    : io_(io), address_(address) {}
server_connections::~server_connections() = default;

server_connection_ptr server_connections::make() {
  return std::make_unique<server_connection>(io_, address_);
}

server_connection_ptr server_connections::take() {
  const auto oldest = base::boot_now() - idle_max;
  while (!kept_.empty()) {
    auto last = std::move(kept_.back());
    kept_.pop_back();
    if (last->last_use() <= oldest) {
      kept_.clear();  // the others were used before
    } else if (last->is_quiet()) {
      return last;
    }
  }
  return make();
}

void server_connections::keep(server_connection_ptr used) {
  if (ended_) return;
  used->begin_anew();
  kept_.push_back(std::move(used));
}

void server_connections::end() noexcept {
  ended_ = true;
  kept_.clear();
}

server_call::server_call(server_connections& all, connection_use use)
    : all_(all), use_(use), connection_(use == connection_use::shared ? all.take() : all.make()) {}

server_call::~server_call() {
  if (use_ == connection_use::shared && whole_ && connection_->may_be_kept())
    all_.keep(std::move(connection_));
}

asio::awaitable<result<void>> server_call::connect() { return connection_->connect(); }

asio::awaitable<result<http_head>> server_call::exchange(const http_request& request) {
  return connection_->exchange(request);
}

asio::awaitable<result<std::string>> server_call::read_some() {
  auto piece = co_await connection_->read_some();
  whole_ = piece && piece->empty();
  co_return piece;
}

void server_call::close() noexcept { connection_->close(); }

result<server_address> read_server_url(const std::string& url) {
  const auto refuse = [&](const char* why) {
    return error(errc::invalid_argument, std::string("--upstream: ") + why);
  };
  server_address out;
  out.tls = url.starts_with("https://");
  if (!out.tls && !url.starts_with("http://")) return refuse("expected http://… or https://…");
  const auto rest = url.substr(out.tls ? 8 : 7);
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  out.authority = rest.substr(0, end);
  out.target = rest.substr(end, rest.find('#') - end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  if (out.authority.find('@') != out.authority.npos) return refuse("a user has no place in it");
  if (!http1::is_authority(out.authority, false)) return refuse("expected http://HOST[:PORT]/PATH");
  if (!http1::is_target(out.target))
    return refuse("its path has a space or a control character, which %20 or the like stands for");
  const auto closing = out.authority.starts_with('[') ? out.authority.find(']') : 0;
  const auto colon = out.authority.find(':', closing == out.authority.npos ? 0 : closing);
  out.host = out.authority.substr(0, colon);
  if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
  out.port =
      colon == out.authority.npos ? (out.tls ? "443" : "80") : out.authority.substr(colon + 1);
  if (out.port.empty()) return refuse("expected http://HOST[:PORT]/PATH");
  return out;
}

}  // namespace onceguard::mcp
