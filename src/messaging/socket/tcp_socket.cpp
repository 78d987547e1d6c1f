#include "messaging/socket/tcp_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <climits>

#include <onceguard/record.hpp>

namespace onceguard::messaging {
namespace {

error unreachable(std::string_view begin, int code) {
  return {errc::broker_unreachable,
          std::string(begin) + ": " + std::generic_category().message(code)};
}

void set(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

/// The system asks idle peers whether they are there: firewalls don't forget the connection, and a
/// machine that is gone is noticed.
void set_options(int descriptor) {
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void wait_for(int descriptor, short events, moment until) {
  const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
  pollfd waiting{descriptor, events, 0};
  // Also where a signal ends it: the callers have loops.
  ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
}

bool again(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

/// Zero: it stands; EINPROGRESS: not yet.
int connection_state(int descriptor) {
  pollfd waiting{descriptor, POLLOUT, 0};
  if (::poll(&waiting, 1, 0) != 1) return EINPROGRESS;
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return errno;
  return code;
}

}  // namespace

void tcp_socket::close() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

result<void> tcp_socket::connect_one(const addrinfo& peer, moment until) {
  close();
  descriptor_ = ::socket(peer.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return unreachable("no socket", errno);
  set_options(descriptor_);
  int code = ::connect(descriptor_, peer.ai_addr, peer.ai_addrlen) == 0 ? 0 : errno;
  if (code == EINTR) code = EINPROGRESS;
  while (code == EINPROGRESS) {
    if (base::boot_now() >= until) code = ETIMEDOUT;
    if (code == ETIMEDOUT) break;
    wait_for(descriptor_, POLLOUT, until);
    code = connection_state(descriptor_);
  }
  if (code == 0) return {};
  close();
  return unreachable("can't connect", code);
}

result<void> tcp_socket::connect(const std::string& host, std::uint16_t port, moment until) {
  const auto found = find_host(host, port, until);
  if (!found) return found.error();
  int left = 0;
  for (const auto* peer = found->get(); peer != nullptr; peer = peer->ai_next) ++left;
  result<void> out;
  for (const auto* peer = found->get(); peer != nullptr; peer = peer->ai_next, --left) {
    // An address that does not answer leaves time for the others.
    const auto now = base::boot_now();
    out = connect_one(*peer, now + (until - now) / left);
    if (out) break;
  }
  return out;
}

result<std::size_t> tcp_socket::read(std::span<char> buffer) {
  const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) return error(errc::broker_unreachable, "the broker closed the connection");
  const int code = errno;
  if (again(code)) return std::size_t{0};
  return unreachable("the connection broke", code);
}

result<std::size_t> tcp_socket::write(std::string_view bytes) {
  const auto count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) return static_cast<std::size_t>(count);
  const int code = errno;
  if (again(code)) return std::size_t{0};
  return unreachable("the connection broke", code);
}

void tcp_socket::wait(bool writable, moment until) const {
  wait_for(descriptor_, static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), until);
}

}  // namespace onceguard::messaging
