#include "gateway/listeners.hpp"

#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace onceguard::gateway {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int queue_max = 4096;

/// Of a socket; -1: it has none.
int socket_option(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/// Why the gateway can't take connections there; empty: it can.
std::string_view passed_socket_fault(int passed) {
  const int family = socket_option(passed, SO_DOMAIN);
  if (family != AF_INET && family != AF_INET6) return "it is no TCP socket";
  if (socket_option(passed, SO_TYPE) != SOCK_STREAM) return "it is no TCP socket";
  if (socket_option(passed, SO_ACCEPTCONN) != 1) {
    return "it does not listen (a socket unit needs Accept=no)";
  }
  return {};
}

}  // namespace

result<void> listeners::open(const base::endpoint& address) {
  error_code ec;
  const auto failed = [&](std::string_view step) {
    return error(errc::invalid_argument, "listening on " + address.host + ":" +
                                             std::to_string(address.port) + ": " +
                                             std::string(step) + ": " + ec.message());
  };
  tcp::resolver resolver(io_);
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), tcp::resolver::passive, ec);
  if (ec) return failed("resolve");
  const auto where = found.begin()->endpoint();
  auto made = std::make_unique<acceptor>(io_);
  if (made->open(where.protocol(), ec); ec) return failed("socket");
  made->set_option(boost::asio::socket_base::reuse_address(true), ec);
  if (made->bind(where, ec); ec) return failed("bind");
  if (made->listen(queue_max, ec); ec) return failed("listen");
  return add(std::move(made));
}

result<void> listeners::take(const std::vector<int>& passed) {
  for (const int number : passed) {
    auto made = std::make_unique<acceptor>(io_);
    error_code ec;
    const auto fault = passed_socket_fault(number);
    const bool v6 = socket_option(number, SO_DOMAIN) == AF_INET6;
    if (fault.empty()) made->assign(v6 ? tcp::v6() : tcp::v4(), number, ec);
    if (!fault.empty() || ec) {
      return error(errc::invalid_argument, "the passed socket \"gateway\" (descriptor " +
                                               std::to_string(number) +
                                               "): " + (ec ? ec.message() : std::string(fault)));
    }
    if (auto added = add(std::move(made)); !added) return added;
  }
  return {};
}

result<void> listeners::add(std::unique_ptr<acceptor> made) {
  error_code ec;
  const auto bound = made->local_endpoint(ec);
  if (ec) return error(errc::invalid_argument, "getsockname: " + ec.message());
  addresses_.push_back(bound);
  numbers_.push_back(made->native_handle());
  all_.push_back(std::move(made));
  return {};
}

void listeners::close() noexcept {
  for (const auto& one : all_) {
    if (!one->is_open()) continue;
    // Asio leaves it to the kernel to forget a socket that is closed, but the kernel does so only
    // once nobody has it. release() forgets it at once.
    error_code failed;
    const int number = one->release(failed);
    if (!failed) ::close(number);
  }
}

}  // namespace onceguard::gateway
