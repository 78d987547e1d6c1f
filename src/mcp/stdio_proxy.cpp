#include "mcp/stdio_proxy.hpp"

#include "mcp/stdio_session.hpp"

namespace onceguard::mcp {

stdio_proxy::stdio_proxy(guard& records, mcp_params params, std::vector<std::string> command,
                         complaint_taker complain)
    : session_(std::make_unique<stdio_session>(records, std::move(params), std::move(command),
                                               std::move(complain))) {}
stdio_proxy::~stdio_proxy() = default;
result<int> stdio_proxy::run() { return session_->run(); }
void stdio_proxy::stop() { session_->stop(); }

}  // namespace onceguard::mcp
