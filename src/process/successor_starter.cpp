#include "process/successor_starter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/successor.hpp"

namespace onceguard::process {
namespace {

constexpr std::size_t sockets_max = 253;  // SCM_MAX_FD
constexpr std::size_t text_max = 4096;
constexpr int line_number = 3;

/// The answer to a request: the number of the successor, or 0 and why there is none.
struct start_answer {
  pid_t successor;
  char why[1020];
};

/// A message with descriptors (unix(7), SOCK_SEQPACKET).
struct socket_message {
  std::array<char, text_max> text{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * sockets_max)> control{};
  iovec part{text.data(), text.size()};
  msghdr head{};

  socket_message() {
    head.msg_iov = &part;
    head.msg_iovlen = 1;
    head.msg_control = control.data();
    head.msg_controllen = control.size();
  }
};

using named_sockets = std::vector<std::pair<std::string, int>>;

bool send_sockets(int line, const named_sockets& sockets) {
  socket_message sent;
  std::string names;
  for (const auto& [name, number] : sockets) names += name + "\n";
  if (sockets.empty() || sockets.size() > sockets_max || names.size() > text_max) {
    errno = EMSGSIZE;
    return false;
  }
  names.copy(sent.text.data(), names.size());
  sent.part.iov_len = names.size();
  auto* const header = CMSG_FIRSTHDR(&sent.head);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * sockets.size());
  sent.head.msg_controllen = CMSG_SPACE(sizeof(int) * sockets.size());
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &sockets[i].second, sizeof(int));
  }
  return ::sendmsg(line, &sent.head, MSG_NOSIGNAL) >= 0;
}

/// False: nobody sends any more.
bool receive_sockets(int line, named_sockets& out) {
  socket_message taken;
  ssize_t size = 0;
  do {
    size = ::recvmsg(line, &taken.head, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0) return false;
  const auto* const header = CMSG_FIRSTHDR(&taken.head);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return false;
  std::string_view names(taken.text.data(), static_cast<std::size_t>(size));
  const auto count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
    const auto end = std::min(names.find('\n'), names.size());
    out.emplace_back(names.substr(0, end), number);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return true;
}

void answer(int line, const result<pid_t>& started) {
  start_answer out{};
  if (started) out.successor = *started;
  if (!started) started.error().detail.copy(out.why, sizeof out.why - 1);
  ::send(line, &out, sizeof out, MSG_NOSIGNAL);
}

/// All that the new process does.
[[noreturn]] void serve_starts(int line, successor_params params, std::span<char> shown) {
  const auto shown_end =
      std::ranges::copy(
          std::string_view("onceguard: starter").substr(0, shown.empty() ? 0 : shown.size() - 1),
          shown.begin())
          .out;
  std::fill(shown_end, shown.end(), '\0');
  // They are for the process beside it, although a terminal or a manager sends them to both.
  for (const int one : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2}) std::signal(one, SIG_IGN);
  ::prctl(PR_SET_NAME, "starter", 0, 0, 0);
  if (line != line_number && ::dup3(line, line_number, O_CLOEXEC) < 0) ::_exit(1);
  close_from(line_number + 1);
  while (receive_sockets(line_number, params.sockets)) {
    answer(line_number, start_successor(params));
    for (const auto& [name, number] : params.sockets) ::close(number);
    params.sockets.clear();
  }
  ::_exit(0);
}

}  // namespace

successor_starter successor_starter::begin(std::vector<std::string> words,
                                           std::vector<std::string> variables,
                                           std::span<char> shown) {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  base::descriptor here(ends[0]);
  // A thread that has more to do waits for an answer.
  const timeval patience{10, 0};
  ::setsockopt(here.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const base::descriptor there(ends[1]);
  const pid_t process = ::fork();
  if (process == 0) serve_starts(there.get(), {std::move(words), std::move(variables), {}}, shown);
  if (process < 0) return {};
  return {std::move(here), process};
}

successor_starter::~successor_starter() {
  line_.close();
  if (process_ <= 0) return;
  // It ends at once, unless somebody has stopped it.
  const base::descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  constexpr int patience_ms = 1'000;
  if (::poll(&ended, 1, patience_ms) != 1) ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

result<pid_t> successor_starter::start(const named_sockets& sockets) {
  const auto failed = [] {
    return error(errc::conflict,
                 std::string("no new process: the starter: ") + std::strerror(errno));
  };
  start_answer taken{};
  if (!send_sockets(line_.get(), sockets)) return failed();
  ssize_t size = 0;
  do {
    size = ::recv(line_.get(), &taken, sizeof taken, 0);
  } while (size < 0 && errno == EINTR);
  if (size == 0) errno = EPIPE;
  if (size != sizeof taken) {
    const auto why = failed();
    if (process_ > 0)
      ::kill(process_, SIGKILL);  // or it would start one that nobody waits for, once it goes on
    line_.close();
    return why;
  }
  if (taken.successor > 0) return taken.successor;
  return error(errc::conflict, std::string(taken.why, ::strnlen(taken.why, sizeof taken.why)));
}

}  // namespace onceguard::process
