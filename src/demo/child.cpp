#include "demo/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/rethrow.hpp"
#include "demo/wire.hpp"

namespace onceguard::demo {
namespace {

struct started {
  pid_t pid = -1;
  int output = -1;  // the read end of the pipe for the child's output
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The environment without variables that would configure the child.
std::vector<std::string> plain_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (!variable.starts_with("ONCEGUARD_")) out.emplace_back(variable);
  }
  return out;
}

// A child must not inherit the demo's sockets: an inherited listening socket would never close.
void close_all_but_standard() {
  constexpr unsigned first = STDERR_FILENO + 1;
  if (::close_range(first, ~0U, 0) == 0) return;
  for (int one = first; one < 1'024; ++one) ::close(one);  // a kernel without close_range
}

// Runs between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         int output, int errors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before prctl took effect
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(errors < 0 ? nothing : output, STDOUT_FILENO);
  ::dup2(errors < 0 ? output : errors, STDERR_FILENO);
  close_all_but_standard();
  ::execve(program, arguments, environment);
  ::_exit(127);
}

// Reads what a command prints, whose log goes to the file `errors`; or, without that, the log of a
// server.
started start(const std::vector<std::string>& arguments, int errors = -1) {
  const auto program = this_program();
  std::vector<std::string> words{"onceguard"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  auto variables = plain_environment();
  const auto argv = pointers_to(words);
  const auto envp = pointers_to(variables);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(program.c_str(), argv.data(), envp.data(), ends[1], errors, parent);
  }
  const int why = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    throw std::system_error(why, std::generic_category(), "fork");
  }
  return {pid, ends[0]};
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

using pipe_end = asio::posix::stream_descriptor;

asio::awaitable<void> read_lines(std::shared_ptr<pipe_end> shared, child::line_handler on_line) {
  std::string pending;
  std::string piece(4096, '\0');
  for (;;) {
    const auto [failed, count] = co_await shared->async_read_some(asio::buffer(piece), quietly);
    pending.append(piece, 0, count);
    for (auto end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      on_line(std::string_view(pending).substr(0, end));
      pending.erase(0, end + 1);
    }
    if (failed) break;
  }
  on_line(std::nullopt);
}

}  // namespace

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

child::child(const asio::any_io_executor& executor, const std::vector<std::string>& arguments,
             line_handler on_line) {
  const auto running = start(arguments);
  pid_ = running.pid;
  auto errors = std::make_shared<pipe_end>(executor, running.output);
  asio::co_spawn(executor, read_lines(std::move(errors), std::move(on_line)), base::rethrow);
}

void child::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  wait_for(pid_);
  pid_ = -1;
}

asio::awaitable<command_result> run_command(const std::vector<std::string>& arguments) {
  const auto executor = co_await asio::this_coro::executor;
  const std::unique_ptr<FILE, int (*)(FILE*)> log(std::tmpfile(), &std::fclose);
  if (!log) throw std::system_error(errno, std::generic_category(), "tmpfile");
  const auto running = start(arguments, ::fileno(log.get()));
  pipe_end output(executor, running.output);
  command_result result;
  std::string piece(4096, '\0');
  for (bool ended = false; !ended;) {
    const auto [failed, count] = co_await output.async_read_some(asio::buffer(piece), quietly);
    result.output.append(piece, 0, count);
    ended = static_cast<bool>(failed);
  }
  result.exit_code = wait_for(running.pid);
  if (result.exit_code != 0) {
    std::rewind(log.get());
    while (const auto count = std::fread(piece.data(), 1, piece.size(), log.get())) {
      result.output.append(piece, 0, count);
    }
  }
  co_return result;
}

}  // namespace onceguard::demo
