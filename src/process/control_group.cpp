#include "process/control_group.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace onceguard::process {
namespace {

/// Of a millisecond each: a process that hangs in the kernel is not waited for.
constexpr int most_rounds = 2'000;
constexpr int deepest = 16;
constexpr mode_t rights = 0755;
constexpr std::string_view name_begin = "onceguard-";

/// The folder of the group that this process is in; empty: it is not seen from here.
std::string folder_of_this_process() {
  std::string group;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  if (group.empty() || group.starts_with("/..")) return {};
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" - cgroup2 ") == line.npos) continue;
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    words >> id >> parent >> device >> root >> point;
    if (root == "/") root.clear();
    if (!group.starts_with(root)) continue;
    return point + group.substr(root.size());
  }
  return {};
}

/// systemd says so in an attribute of a folder that it leaves to others. Where no systemd runs, who
/// may write there may divide it.
bool may_be_divided(const std::string& folder) {
  if (::access(folder.c_str(), W_OK) != 0) return false;
  if (::access("/run/systemd/system", F_OK) != 0) return true;
  char given = '0';
  return ::getxattr(folder.c_str(), "user.delegate", &given, 1) == 1
             ? given == '1'
             : ::getxattr(folder.c_str(), "trusted.delegate", &given, 1) == 1 && given == '1';
}

int open_in(const char* folder, const char* name, int flags) noexcept {
  // No path is put together, and below no opendir() is used: the guardian may not allocate.
  const int parent = ::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return -1;
  const int out = ::openat(parent, name, flags | O_CLOEXEC);
  ::close(parent);
  return out;
}

/// Removes the groups that a command has made below its own. None of them has a process any more.
void remove_below(int folder, int depth) noexcept {
  char names[2048];
  for (ssize_t size = 0; depth > 0 && (size = ::getdents64(folder, names, sizeof names)) > 0;) {
    for (ssize_t position = 0; position < size;) {
      const auto* each = reinterpret_cast<const dirent64*>(names + position);
      position += each->d_reclen;
      if (each->d_type != DT_DIR || each->d_name[0] == '.') continue;
      const int inner = ::openat(folder, each->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (inner >= 0) {
        remove_below(inner, depth - 1);
        ::close(inner);
      }
      ::unlinkat(folder, each->d_name, AT_REMOVEDIR);
    }
  }
}

void kill_group(const char* folder) noexcept {
  const int order = open_in(folder, "cgroup.kill", O_WRONLY);
  if (order < 0) return;
  static_cast<void>(::write(order, "1", 1));
  ::close(order);
}

/// Whether nothing runs in it, nor below. `events`: its file of that name.
bool is_empty(int events) noexcept {
  char text[256];
  const auto size = ::pread(events, text, sizeof text, 0);
  return size <= 0 || std::string_view(text, static_cast<std::size_t>(size)).find("populated 0") !=
                          std::string_view::npos;
}

void remove_group(const char* folder) noexcept {
  const int open = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (open < 0) return;
  remove_below(open, deepest);
  ::close(open);
  ::rmdir(folder);
}

/// The process that made the group of that name. 0: it is none of ours.
pid_t maker_of(std::string_view name) noexcept {
  if (!name.starts_with(name_begin)) return 0;
  name.remove_prefix(name_begin.size());
  const auto* const end = name.data() + name.size();
  pid_t maker = 0;
  unsigned number = 0;
  const auto first = std::from_chars(name.data(), end, maker);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return 0;
  const auto second = std::from_chars(first.ptr + 1, end, number);
  return second.ec == std::errc() && second.ptr == end && maker > 0 ? maker : 0;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  auto* const open = ::opendir(folder.c_str());
  if (open == nullptr) return out;
  while (const auto* each = ::readdir(open)) {
    if (each->d_type == DT_DIR) out.emplace_back(each->d_name);
  }
  ::closedir(open);
  return out;
}

/// Who was killed at once with its guardian, or whose keeper was, has removed nothing. What still
/// runs there keeps its group: it may have made groups of its own, which are empty for a moment.
void remove_abandoned(const std::string& parent) {
  for (const auto& name : names_in(parent)) {
    const auto maker = maker_of(name);
    if (maker == 0 || ::kill(maker, 0) == 0 || errno != ESRCH) continue;
    const auto folder = parent + name;
    const base::descriptor events(open_in(folder.c_str(), "cgroup.events", O_RDONLY));
    if (events.is_open() && is_empty(events.get())) remove_group(folder.c_str());
  }
}

}  // namespace

std::optional<control_group> make_control_group() {
  auto parent = folder_of_this_process();
  if (parent.empty() || !may_be_divided(parent)) return std::nullopt;
  if (!parent.ends_with('/')) parent += '/';
  remove_abandoned(parent);
  static std::atomic<unsigned> made{0};
  control_group out;
  out.folder =
      parent.append(name_begin) + std::to_string(::getpid()) + "-" + std::to_string(++made);
  const char* const folder = out.folder.c_str();
  // An empty one of that name was left by a process that has ended.
  if (::mkdir(folder, rights) != 0 &&
      (errno != EEXIST || ::rmdir(folder) != 0 || ::mkdir(folder, rights) != 0)) {
    return std::nullopt;
  }
  // Kernels before 5.14 can't end a group.
  const int order = open_in(folder, "cgroup.kill", O_WRONLY);
  out.open = base::descriptor(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (order >= 0) ::close(order);
  if (order >= 0 && out.open.is_open()) return out;
  ::rmdir(folder);
  return std::nullopt;
}

void end_control_group(const char* folder) noexcept {
  const int events = open_in(folder, "cgroup.events", O_RDONLY);
  if (events < 0) return;
  kill_group(folder);
  for (int round = 0; round < most_rounds && !is_empty(events); ++round) {
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  ::close(events);
  remove_group(folder);
}

void outlive_control_group(const char* folder) noexcept {
  const int events = open_in(folder, "cgroup.events", O_RDONLY);
  if (events < 0) return;
  while (!is_empty(events)) {
    // The kernel's cgroup-v2.rst: a change of this file shows as POLLPRI.
    pollfd changed{events, POLLPRI, 0};
    ::poll(&changed, 1, -1);
  }
  ::close(events);
  remove_group(folder);
}

}  // namespace onceguard::process
