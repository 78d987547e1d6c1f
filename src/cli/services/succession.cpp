#include "cli/services/succession.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>

#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/number_in.hpp"
#include "cli/command.hpp"
#include "cli/hidden_arguments.hpp"
#include "config/load.hpp"
#include "core/kept_key.hpp"
#include "http1/server/listener.hpp"

namespace onceguard::cli::services {
namespace {

// unix(7), SOCK_SEQPACKET: keeps the borders of messages, and shows that the other end is gone. The
// predecessor says for which addresses its sockets are; the successor says its number when it takes
// requests, and which of them it left; the predecessor confirms.
constexpr std::string_view line_name = "predecessor";
constexpr std::string_view file_of_former = "its admin file";
constexpr std::string_view file_for_clients = "its serve file";
constexpr std::string_view serve_left = "\nserve left";
constexpr std::string_view admin_left = "\nadmin left";  // the last one: versions before look there
constexpr std::size_t message_max = 4096;
constexpr std::size_t pepper_digits = 12;
constexpr timeval confirm_patience{5, 0};
/// Of a process that has closed its end of the line, which it does shortly before its configured
/// end.
constexpr int end_patience_ms = 2'000;
/// From SIGTERM on.
constexpr std::chrono::seconds stop_patience{5};

struct addresses {
  std::string listen;
  std::string admin;
  std::string serve;
};

addresses addresses_in(const config::settings& settings) {
  return {base::text_of(settings.gateway.listen),
          settings.admin.enabled ? settings.admin.address.text() : std::string(),
          settings.serve.enabled ? settings.serve.listen.text() : std::string()};
}

/// Where a socket listens, as the configuration would write it; empty: it has no such address.
std::string socket_address(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return {};
  if (bound.ss_family == AF_UNIX) {
    const auto* path = reinterpret_cast<const sockaddr_un*>(&bound)->sun_path;
    return "unix:" + std::string(path, ::strnlen(path, sizeof(sockaddr_un::sun_path)));
  }
  if (bound.ss_family != AF_INET && bound.ss_family != AF_INET6) return {};
  boost::asio::ip::tcp::endpoint out;
  out.resize(size);
  std::memcpy(out.data(), &bound, size);
  base::endpoint where;
  where.host = out.address().to_string();
  where.port = out.port();
  return base::text_of(where);
}

void leave(const process::passed_socket& one, std::string_view why) {
  base::log(base::event::passed_socket_not_used,
            {{"name", one.name}, {"address", socket_address(one.socket.get())}, {"why", why}});
}

struct greeting {
  pid_t sender = 0;
  addresses listens;
  std::string store;
  bool made_admin_file = false;  // versions before said nothing of that
  bool made_serve_file = false;
};

std::string text_of(const greeting& sent) {
  auto out = std::to_string(sent.sender) + "\n" + sent.listens.listen + "\n" + sent.listens.admin +
             "\n" + sent.store + "\n" + sent.listens.serve;
  if (sent.made_admin_file) out.append("\n").append(file_of_former);
  if (sent.made_serve_file) out.append("\n").append(file_for_clients);
  return out;
}

/// nullopt: there is no predecessor, or it is gone.
std::optional<greeting> read_greeting(int line) {
  std::array<char, message_max> text{};
  const auto size = ::recv(line, text.data(), text.size(), MSG_DONTWAIT);
  if (size <= 0) return std::nullopt;
  std::string_view rest(text.data(), static_cast<std::size_t>(size));
  const auto next_line = [&rest] {
    const auto found = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), found.size() + 1));
    return std::string(found);
  };
  greeting out;
  out.sender = base::number_in<pid_t>(next_line()).value_or(0);
  out.listens.listen = next_line();
  out.listens.admin = next_line();
  out.store = next_line();
  out.listens.serve = next_line();  // empty: an earlier version has none
  while (!rest.empty()) {
    const auto file = next_line();
    out.made_admin_file = out.made_admin_file || file == file_of_former;
    out.made_serve_file = out.made_serve_file || file == file_for_clients;
  }
  return out;
}

/// Where the configuration has another address by now, this process listens there by itself.
void take_inherited(std::vector<process::passed_socket>& passed, const addresses& former,
                    const addresses& configured, given_sockets& out) {
  for (auto& one : passed) {
    if (one.name == "gateway" && former.listen == configured.listen) {
      out.gateway.push_back(std::move(one.socket));
    } else if (one.name == "admin" && former.admin == configured.admin) {
      out.admin = std::move(one.socket);
    } else if (one.name == "serve" && former.serve == configured.serve) {
      out.serve = std::move(one.socket);
    }
  }
}

/// Who may use such a listener depends on its address, and `check` has looked at that of the file.
result<void> take_named(process::passed_socket& one, std::string_view name,
                        const std::string& address, const std::string& configured,
                        base::descriptor& out) {
  if (configured.empty()) {
    leave(one, "the configuration has no " + std::string(name));
    return {};
  }
  if (address != configured) {
    return error(errc::invalid_argument, "the passed socket \"" + std::string(name) +
                                             "\" listens at " + address + ", and " +
                                             std::string(name) + " is \"" + configured + "\"");
  }
  out = std::move(one.socket);
  return {};
}

result<void> take_passed(process::passed_socket& one, const addresses& configured,
                         given_sockets& out) {
  const auto address = socket_address(one.socket.get());
  const bool is_admin = one.name == "admin" || (!address.empty() && address == configured.admin);
  const bool is_serve = one.name == "serve" || (!address.empty() && address == configured.serve);
  const bool named = one.name == "admin" || one.name == "serve";
  if (one.name == "gateway" || (!named && address == configured.listen)) {
    out.gateway.push_back(std::move(one.socket));
    return {};
  }
  if (is_admin) return take_named(one, "admin", address, configured.admin, out.admin);
  if (is_serve) return take_named(one, "serve", address, configured.serve, out.serve);
  leave(one, "it is not called gateway, admin or serve, nor listens at the address of one");
  return {};
}

void send_signal(int handle, int number) noexcept {
  if (handle >= 0) ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0);
}

/// One that only has closed the line takes no requests.
void end_process(int handle) noexcept {
  pollfd ended{handle, POLLIN, 0};
  if (handle >= 0 && ::poll(&ended, 1, end_patience_ms) == 0) {
    send_signal(handle, SIGKILL);
  }
}

}  // namespace

void predecessor::relieve(const taken_sockets& took) {
  if (!line_.is_open()) {
    *relieved_ = true;
    return;
  }
  auto word = std::to_string(::getpid());
  if (!took.serve) word += serve_left;
  if (!took.admin) word += admin_left;
  ::setsockopt(line_.get(), SOL_SOCKET, SO_RCVTIMEO, &confirm_patience, sizeof confirm_patience);
  char confirmed = 0;
  if (::send(line_.get(), word.data(), word.size(), MSG_NOSIGNAL) > 0) {
    while (::recv(line_.get(), &confirmed, 1, 0) < 0 && errno == EINTR) {
    }
    base::log(base::event::taken_over, {{"pid", number_}});
  }
  line_.close();
  *relieved_ = true;
}

http1::passed_listener given_sockets::pass_admin() {
  return {admin.release(), made_admin_file, former.relieved()};
}

http1::passed_listener given_sockets::pass_serve() {
  return {serve.release(), made_serve_file, former.relieved()};
}

void end_late_start(bool logs) {
  const auto seconds = start_patience.count();
  if (logs) {
    static_cast<void>(base::log_surely(base::event::start_given_up, {{"seconds", seconds}}));
  } else {
    end_with(exit_failed, "after " + std::to_string(seconds) +
                              " s the start is not over: no successor of a running process");
  }
  std::_Exit(exit_failed);
}

std::string store_text(const config::settings& settings) {
  auto out = without_passwords(settings.store.url);
  if (!settings.accelerator.url.empty()) {
    out += ' ' + without_passwords(settings.accelerator.url);
  }
  // Not even how long they are: they may change.
  out.erase(
      std::unique(out.begin(), out.end(), [](char a, char b) { return a == '*' && b == '*'; }),
      out.end());
  // Keys that are kept in two ways would run twice, as those of two stores.
  if (const auto* pepper = core::pepper_in_use()) {
    out += " with key pepper " + base::to_hex(pepper->mark()).substr(0, pepper_digits);
  }
  return out;
}

bool have_predecessor(const std::vector<process::passed_socket>& passed) noexcept {
  return std::ranges::any_of(passed, [](const auto& one) { return one.name == line_name; });
}

result<given_sockets> sort_sockets(std::vector<process::passed_socket> passed,
                                   const config::settings& settings) {
  given_sockets out;
  const auto configured = addresses_in(settings);
  std::optional<greeting> former;
  for (auto& one : passed) {
    if (one.name != line_name) continue;
    former = read_greeting(one.socket.get());
    out.former = predecessor(std::move(one.socket), former ? former->sender : 0);
  }
  if (former && former->store != store_text(settings)) {
    return error(errc::invalid_argument,
                 "the running process has another store (" + former->store +
                     "): what it runs would run here once more; stop it and start anew");
  }
  if (former) {
    take_inherited(passed, former->listens, configured, out);
    out.made_admin_file = former->made_admin_file && out.admin.is_open();
    out.made_serve_file = former->made_serve_file && out.serve.is_open();
    return out;
  }
  for (auto& one : passed) {
    if (!one.socket.is_open()) continue;
    if (auto taken = take_passed(one, configured, out); !taken) return taken.error();
  }
  return out;
}

result<pid_t> succession::begin(const inheritance& left, std::function<void(const word&)> ready,
                                std::function<void(pid_t)> failed) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return error(errc::conflict, std::string("socketpair: ") + std::strerror(errno));
  }
  base::descriptor here(ends[0]);
  const base::descriptor there(ends[1]);
  // The successor reads and waits by itself.
  ::fcntl(there.get(), F_SETFL, ::fcntl(there.get(), F_GETFL) & ~O_NONBLOCK);
  const auto hello = text_of(greeting{::getpid(),
                                      {left.listen, left.admin, left.serve},
                                      left.store,
                                      left.made_admin_file,
                                      left.made_serve_file});
  if (::send(here.get(), hello.data(), hello.size(), MSG_NOSIGNAL) < 0) {
    return error(errc::conflict, std::string("send: ") + std::strerror(errno));
  }
  auto sockets = left.sockets;
  sockets.emplace_back(line_name, there.get());
  const auto started = starter_.start(sockets);
  if (!started) return started;
  // glibc 2.36 declares pidfd_open() for C alone.
  handle_ = base::descriptor(static_cast<int>(::syscall(SYS_pidfd_open, *started, 0)));
  boost::system::error_code wrong;
  line_.assign(here.release(), wrong);
  kept_.clear();
  ready_ = std::move(ready);
  failed_ = std::move(failed);
  wait_for_message(*started);
  kill_after(patience_);
  return started;
}

void succession::wait_for_message(pid_t successor) {
  line_.async_wait(line_.wait_read, [this, successor](boost::system::error_code cancelled) {
    if (cancelled) return;
    char message[64];
    const auto size = ::recv(line_.native_handle(), message, sizeof message, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return wait_for_message(successor);
    const std::string_view said(message, size > 0 ? static_cast<std::size_t>(size) : 0);
    const auto took = [said](std::string_view left) { return said.find(left) == said.npos; };
    if (size > 0) return ready_({successor, {took(admin_left), took(serve_left)}});
    boost::system::error_code ignored;
    line_.close(ignored);
    limit_.cancel();
    end_process(handle_.get());
    failed_(successor);
  });
}

succession::~succession() {
  if (under_way()) send_signal(handle_.get(), SIGKILL);
}

void succession::stop() {
  if (!under_way()) return;
  send_signal(handle_.get(), SIGTERM);
  kill_after(stop_patience);
}

void succession::kill_after(std::chrono::milliseconds patience) {
  limit_.expires_after(patience);
  limit_.async_wait([this](boost::system::error_code cancelled) {
    if (!cancelled && under_way()) send_signal(handle_.get(), SIGKILL);
  });
}

std::string succession::refusal(bool store_is_shared) const {
  if (under_way()) return "another upgrade is under way";
  if (!store_is_shared) {
    return "the store belongs to this process, and to no other one meanwhile: stop it, and start "
           "another one then";
  }
  // The kernel ends all processes of a PID namespace with its first one.
  if (::getpid() == 1) return "with process 1 the container ends: replace the container";
  return {};
}

void succession::pass_on(int signal) {
  if (confirmed_) return send_signal(handle_.get(), signal);
  if (under_way() && std::ranges::find(kept_, signal) == kept_.end()) kept_.push_back(signal);
}

void succession::confirm() {
  limit_.cancel();
  // It has its handlers by now.
  for (const int signal : kept_) send_signal(handle_.get(), signal);
  confirmed_ = true;
  const char yes = 1;
  ::send(line_.native_handle(), &yes, 1, MSG_NOSIGNAL);
  boost::system::error_code ignored;
  line_.close(ignored);
}

}  // namespace onceguard::cli::services
