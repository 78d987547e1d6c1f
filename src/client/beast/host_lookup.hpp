// The look-up of a host name with a time limit.
#pragma once
#include <chrono>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace onceguard::client {
inline namespace v1 {

/// The addresses of the host. The system's resolver knows no time limit: it runs on a thread that
/// nobody waits for. `failed` is asio::error::timed_out when the time is up, and
/// operation_aborted after a cancellation. On an executor that runs one handler at a time.
[[nodiscard]] boost::asio::awaitable<boost::asio::ip::tcp::resolver::results_type> find_addresses(
    const std::string& host, const std::string& port,
    std::chrono::steady_clock::time_point deadline, boost::system::error_code& failed);

}  // namespace v1
}  // namespace onceguard::client
