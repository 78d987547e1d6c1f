#include "process/successor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace onceguard::process {
namespace {

constexpr int first_passed = 3;  // SD_LISTEN_FDS_START
constexpr std::string_view of_successor = "_PID=";
constexpr std::size_t digits_max = 12;

/// All that the child needs, made before the fork: in the child of a process with threads only what
/// is async-signal-safe may be called (POSIX, fork()).
struct prepared {
  std::string program;
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> word_list;
  std::vector<char*> variable_list;
  std::vector<char*> number_positions;  // where the child writes its number
  std::vector<int> sockets;
};

bool replaced(std::string_view variable) {
  constexpr std::string_view names[]{"LISTEN_PID=",   "LISTEN_FDS=",    "LISTEN_FDNAMES=",
                                     "WATCHDOG_PID=", "WATCHDOG_USEC=", "NOTIFY_SOCKET="};
  return std::ranges::any_of(names, [&](auto name) { return variable.starts_with(name); });
}

std::vector<std::string> variables_for(const successor_params& params) {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!replaced(*entry)) out.emplace_back(*entry);
  }
  std::string names;
  for (const auto& [name, number] : params.sockets) names += (names.empty() ? "" : ":") + name;
  out.push_back("LISTEN_FDS=" + std::to_string(params.sockets.size()));
  out.push_back("LISTEN_FDNAMES=" + names);
  out.emplace_back("LISTEN_PID=");
  out.insert(out.end(), params.variables.begin(), params.variables.end());
  return out;
}

prepared prepare(const successor_params& params) {
  prepared out;
  out.program = program_file(params.words.front());
  out.words = params.words;
  out.variables = variables_for(params);
  for (auto& word : out.words) out.word_list.push_back(word.data());
  for (auto& one : out.variables) {
    const auto size = one.size();
    if (one.ends_with(of_successor)) {
      one.append(digits_max, '\0');
      out.number_positions.push_back(one.data() + size);
    }
    out.variable_list.push_back(one.data());
  }
  out.word_list.push_back(nullptr);
  out.variable_list.push_back(nullptr);
  for (const auto& [name, number] : params.sockets) out.sockets.push_back(number);
  return out;
}

void write_number(char* position, pid_t number) noexcept {
  char reversed[digits_max];
  std::size_t count = 0;
  for (; number > 0 && count < digits_max; number /= 10) {
    reversed[count++] = static_cast<char>('0' + number % 10);
  }
  while (count > 0) *position++ = reversed[--count];
}

/// What the children say to this process, in either order. Short enough to be written as one.
struct start_word {
  enum class kind : int { successor, failure };
  kind type;
  int value;  // its number; errno
};

void say(int writing, start_word::kind type, int value) noexcept {
  const start_word word{type, value};
  while (::write(writing, &word, sizeof word) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void end_with_errno(int writing) noexcept {
  say(writing, start_word::kind::failure, errno);
  ::_exit(127);
}

[[noreturn]] void become(prepared& all, int writing) noexcept {
  for (auto* position : all.number_positions) write_number(position, ::getpid());
  const int count = static_cast<int>(all.sockets.size());
  const int last = first_passed + count;
  // Away from the numbers that they are to get, and without FD_CLOEXEC.
  for (auto& number : all.sockets) number = ::fcntl(number, F_DUPFD, last + 1);
  writing = ::fcntl(writing, F_DUPFD, last + 1);
  for (int i = 0; i < count; ++i) {
    if (::dup2(all.sockets[static_cast<std::size_t>(i)], first_passed + i) < 0) {
      end_with_errno(writing);
    }
  }
  // The program itself does not get it, so its end is the sign that the program runs.
  if (::dup3(writing, last, O_CLOEXEC) < 0) end_with_errno(writing);
  close_from(last + 1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(all.program.c_str(), all.word_list.data(), all.variable_list.data());
  end_with_errno(last);
}

/// The number of the successor, once its program runs.
result<pid_t> read_words(int reading, const std::string& program) {
  start_word word{};
  pid_t successor = -1;
  int failure = 0;
  for (;;) {
    const auto size = ::read(reading, &word, sizeof word);
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof word) break;
    (word.type == start_word::kind::successor ? successor : failure) = word.value;
  }
  if (failure != 0) {
    return error(errc::conflict, "no new process: " + program + ": " + std::strerror(failure));
  }
  if (successor > 0) return successor;
  return error(errc::conflict, "no new process: the system has no room for one");
}

}  // namespace

void close_from(int first) noexcept {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  rlimit limit{};  // a kernel before 5.9
  ::getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t number = static_cast<rlim_t>(first); number < limit.rlim_cur; ++number) {
    ::close(static_cast<int>(number));
  }
}

std::string program_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (name.find('/') != name.npos) return name;
  const char* folders = ::getenv("PATH");
  std::string_view rest = folders == nullptr ? "/usr/local/bin:/usr/bin:/bin" : folders;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    const auto file = fs::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, ignored)) return file;
  }
  return fs::read_symlink("/proc/self/exe", ignored);
}

result<pid_t> start_successor(const successor_params& params) {
  const auto failed = [] {
    return error(errc::conflict, std::string("no new process: ") + std::strerror(errno));
  };
  auto all = prepare(params);
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed();
  const base::descriptor reading(ends[0]);
  base::descriptor writing(ends[1]);
  const pid_t between = ::fork();
  if (between == 0) {
    const pid_t successor = ::fork();
    if (successor == 0) become(all, writing.get());
    say(writing.get(), start_word::kind::successor, successor);
    ::_exit(0);
  }
  if (between < 0) return failed();
  writing.close();
  auto out = read_words(reading.get(), all.program);
  while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return out;
}

}  // namespace onceguard::process
