#include "http1/server/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http1/server/socket_file.hpp"

namespace onceguard::http1 {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::chrono::milliseconds pause{100};

tcp::endpoint as_tcp(const asio::generic::stream_protocol::endpoint& given) {
  tcp::endpoint out;
  if (given.protocol().family() == AF_UNIX) return out;
  out.resize(given.size());
  std::copy_n(reinterpret_cast<const char*>(given.data()), given.size(),
              reinterpret_cast<char*>(out.data()));
  return out;
}

}  // namespace

std::string peer_address(const stream_socket& socket) {
  error_code gone;
  const auto peer = socket.remote_endpoint(gone);
  if (gone || peer.protocol().family() == AF_UNIX) return {};
  return as_tcp(peer).address().to_string();
}

listener::~listener() { remove_file(); }

void listener::remove_file() noexcept {
  struct stat about {};
  const bool owns = owns_file_ == nullptr || *owns_file_;
  // Another process may have put a socket of its own there.
  if (owns && socket_inode_ != 0 && ::stat(bound_.socket_path.c_str(), &about) == 0 &&
      about.st_ino == socket_inode_) {
    ::unlink(bound_.socket_path.c_str());
  }
  socket_inode_ = 0;
}

error listener::fault(const std::string& why) const {
  return {errc::conflict, bound_.text() + ": " + why};
}

/// Removes the socket that a process left behind which was killed.
result<void> listener::free_socket_file() const {
  switch (examine_socket_file(bound_.socket_path).found) {
    case socket_file::kind::none:
      break;
    case socket_file::kind::other:
      return fault("no socket");
    case socket_file::kind::live:
      return fault("another process listens there");
    case socket_file::kind::stale:
      ::unlink(bound_.socket_path.c_str());
      break;
  }
  return {};
}

result<void> listener::find_endpoint(protocol::endpoint& out) {
  if (bound_.is_socket()) {
    out = asio::local::stream_protocol::endpoint(bound_.socket_path);
    return free_socket_file();
  }
  error_code failed;
  tcp::resolver resolver(io_);
  const auto found = resolver.resolve(bound_.tcp.host, std::to_string(bound_.tcp.port),
                                      tcp::resolver::passive, failed);
  if (failed) return fault("resolve: " + failed.message());
  out = found.begin()->endpoint();
  return {};
}

result<void> listener::listen(const base::server_address& address, mode_t mode) {
  bound_ = address;
  protocol::endpoint endpoint;
  if (auto found = find_endpoint(endpoint); !found) return found;
  error_code ec;
  const auto failed = [&](const std::string& step) { return fault(step + ": " + ec.message()); };
  acceptor_.emplace(io_);
  if (acceptor_->open(endpoint.protocol(), ec); ec) return failed("socket");
  if (!bound_.is_socket()) acceptor_->set_option(asio::socket_base::reuse_address(true), ec);
  if (acceptor_->bind(endpoint, ec); ec) return failed("bind");
  if (bound_.is_socket()) {
    struct stat about {};
    const auto* path = bound_.socket_path.c_str();
    // Nobody can connect before listen().
    if (::chmod(path, mode) != 0 || ::stat(path, &about) != 0) {
      ec = error_code(errno, boost::system::system_category());
      return failed("chmod");
    }
    socket_inode_ = about.st_ino;
  }
  if (acceptor_->listen(asio::socket_base::max_listen_connections, ec); ec) return failed("listen");
  return learn_address();
}

result<void> listener::take(const base::server_address& address, const passed_listener& passed) {
  bound_ = address;
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  error_code ec;
  if (::getsockopt(passed.number, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
    return fault(std::string("the passed socket: ") + std::strerror(errno));
  }
  acceptor_.emplace(io_);
  if (acceptor_->assign(protocol(family, 0), passed.number, ec); ec) {
    return fault("the passed socket: " + ec.message());
  }
  struct stat about {};
  owns_file_ = passed.owns_file;
  if (passed.made_file && ::stat(bound_.socket_path.c_str(), &about) == 0) {
    socket_inode_ = about.st_ino;
  }
  return learn_address();
}

result<void> listener::learn_address() {
  if (bound_.is_socket()) return {};
  error_code ec;
  const auto local = as_tcp(acceptor_->local_endpoint(ec));
  if (ec) return fault("getsockname: " + ec.message());
  bound_.tcp = {local.address().to_string(), local.port()};
  return {};
}

asio::awaitable<void> listener::accept(std::function<void(stream_socket)> take,
                                       std::function<void(const std::string&)> complain) {
  while (acceptor_->is_open()) {
    error_code failed;
    stream_socket socket(io_);
    co_await acceptor_->async_accept(socket, asio::redirect_error(asio::use_awaitable, failed));
    if (!failed) {
      error_code ignored;
      if (!bound_.is_socket()) socket.set_option(tcp::no_delay(true), ignored);
      take(std::move(socket));
      continue;
    }
    if (!acceptor_->is_open()) co_return;
    complain(failed.message());
    asio::steady_timer later(io_, pause);
    co_await later.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  }
}

void listener::close() noexcept {
  if (!acceptor_ || !acceptor_->is_open()) return;
  // Asio leaves it to the kernel to forget a socket that is closed, but the kernel does so only
  // once nobody has it. release() forgets it at once.
  error_code failed;
  const int number = acceptor_->release(failed);
  if (!failed) ::close(number);
}

void listener::hand_over(bool goes_on) noexcept {
  if (!goes_on) remove_file();
  socket_inode_ = 0;
  close();
}

}  // namespace onceguard::http1
