#include "tls/blocking_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <climits>

#include <onceguard/record.hpp>

#include "tls/session.hpp"

namespace onceguard::tls {
namespace {

error unreachable(std::string_view begin, int code) {
  return {errc::broker_unreachable,
          std::string(begin) + ": " + std::generic_category().message(code)};
}

void set_socket_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

/// The system asks idle peers whether they are there: firewalls don't forget the connection, and a
/// machine that is gone is noticed.
void set_socket_options(int descriptor) {
  set_socket_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_socket_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_socket_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set_socket_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set_socket_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void poll_socket(int descriptor, short events, moment until) {
  const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now()).count();
  pollfd waiting{descriptor, events, 0};
  // Also where a signal ends it: the callers have loops.
  ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX)));
}

bool socket_error_passes(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

/// Zero: it stands; EINPROGRESS: not yet.
int tcp_connection_state(int descriptor) {
  pollfd waiting{descriptor, POLLOUT, 0};
  if (::poll(&waiting, 1, 0) != 1) return EINPROGRESS;
  int code = 0;
  socklen_t size = sizeof code;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0) return errno;
  return code;
}

}  // namespace

blocking_socket::blocking_socket() = default;
blocking_socket::~blocking_socket() { close(); }

void blocking_socket::close() noexcept {
  session_.reset();
  unread_ = write_wanted_ = false;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

result<void> blocking_socket::connect_one(const addrinfo& peer, moment until) {
  close();
  descriptor_ = ::socket(peer.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return unreachable("no socket", errno);
  set_socket_options(descriptor_);
  int code = ::connect(descriptor_, peer.ai_addr, peer.ai_addrlen) == 0 ? 0 : errno;
  // POSIX, connect(): after EINTR it goes on, and a second call would fail.
  if (code == EINTR) code = EINPROGRESS;
  while (code == EINPROGRESS) {
    if (base::boot_now() >= until) code = ETIMEDOUT;
    if (code == ETIMEDOUT) break;
    poll_socket(descriptor_, POLLOUT, until);
    code = tcp_connection_state(descriptor_);
  }
  if (code == 0) return {};
  close();
  return unreachable("can't connect", code);
}

result<void> blocking_socket::connect(const std::string& host, std::uint16_t port, moment until) {
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

result<void> blocking_socket::connect_local(const std::string& path, moment until) {
  close();
  sockaddr_un peer{};
  peer.sun_family = AF_UNIX;
  if (path.size() >= sizeof peer.sun_path) return unreachable("can't connect", ENAMETOOLONG);
  path.copy(peer.sun_path, path.size());
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor_ < 0) return unreachable("no socket", errno);
  while (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
    // The queue of its listener is full, and no event tells of room there.
    if (!socket_error_passes(errno) || base::boot_now() >= until) {
      const int code = errno;
      close();
      return unreachable("can't connect", code);
    }
    ::poll(nullptr, 0, 5);
  }
  return {};
}

result<void> blocking_socket::secure(const context& settings, const std::string& name,
                                     moment until) {
  settings_ = settings;
  session_ = session::connect(settings, descriptor_, name);
  if (!session_) return error(errc::broker_unreachable, "TLS can't begin");
  while (true) {
    const auto step = session_->shake_hands();
    if (step == tls::step::done) return {};
    if (step != tls::step::want_read && step != tls::step::want_write) {
      return tls_failure(step == tls::step::cut_off);
    }
    if (base::boot_now() >= until) {
      return error(errc::broker_unreachable,
                   "no answer in time amid the TLS handshake: does the peer speak TLS?");
    }
    poll_socket(descriptor_, step == tls::step::want_read ? POLLIN : POLLOUT, until);
  }
}

result<void> blocking_socket::connect(const std::string& host, std::uint16_t port,
                                      const std::optional<client_files>& files, moment until) {
  context made;
  if (files) {
    auto settings = make_client_context(*files, protocol::other);
    if (!settings) return settings.error();
    made = *std::move(settings);
  }
  auto done = connect(host, port, until);
  if (!done || !made) return done;
  return secure(made, files->name.empty() ? host : files->name, until);
}

error blocking_socket::tls_failure(bool cut_off) const {
  const std::string begin = cut_off ? "the connection broke amid TLS: " : "TLS failed: ";
  const std::string refused = was_refused() ? "the peer refuses our certificate: " : "";
  return {errc::broker_unreachable, begin + refused + session_->failure()};
}

bool blocking_socket::was_refused() const noexcept { return session_ && session_->was_refused(); }

result<std::size_t> blocking_socket::read_secure(std::span<char> buffer) {
  std::size_t all = 0;
  unread_ = write_wanted_ = false;
  while (all < buffer.size()) {
    const auto got = session_->read(buffer.subspan(all));
    all += got.bytes;
    if (got.state == tls::step::done) continue;
    write_wanted_ = got.state == tls::step::want_write;
    if (write_wanted_ || got.state == tls::step::want_read) return all;
    // A peer that has refused us has closed the connection as well.
    if (got.state == tls::step::ended && !was_refused()) {
      if (all == 0) return error(errc::broker_unreachable, "the peer closed the connection");
    } else if (all == 0) {
      return tls_failure(got.state == tls::step::cut_off);
    }
    break;  // the next call says so
  }
  unread_ = true;
  return all;
}

result<std::size_t> blocking_socket::read(std::span<char> buffer) {
  if (session_) return read_secure(buffer);
  const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) return error(errc::broker_unreachable, "the peer closed the connection");
  const int code = errno;
  if (socket_error_passes(code)) return std::size_t{0};
  return unreachable("the connection broke", code);
}

result<std::size_t> blocking_socket::write(std::string_view bytes) {
  if (session_) {
    const auto sent = session_->write(bytes);
    if (sent.bytes > 0) return sent.bytes;  // an error comes again at the next call
    switch (sent.state) {
      case tls::step::done:
      case tls::step::want_read:
      case tls::step::want_write:
        return std::size_t{0};
      case tls::step::ended:
      case tls::step::cut_off:
      case tls::step::failed:
        // Why the peer has closed it may be there to be read.
        if (session_->find_data() == tls::step::failed) return tls_failure(false);
        return tls_failure(sent.state != tls::step::failed);
    }
  }
  const auto count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) return static_cast<std::size_t>(count);
  const int code = errno;
  if (socket_error_passes(code)) return std::size_t{0};
  return unreachable("the connection broke", code);
}

void blocking_socket::wait(bool writable, moment until) const {
  // Bytes wait within OpenSSL, of which poll(2) knows nothing.
  if (unread_) return;
  writable = writable || write_wanted_;
  poll_socket(descriptor_, static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), until);
}

}  // namespace onceguard::tls
