#include "mcp/server_call.hpp"

namespace onceguard::mcp {

namespace asio = boost::asio;

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

}  // namespace onceguard::mcp
