#include "cli/doctor/port_holder.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

namespace onceguard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view listening = "0A";  // the state, in the tables of /proc/net

/// The names of the sockets that listen there, as links in /proc/PID/fd have them.
void add_listeners(const char* table, std::uint16_t port, std::set<std::string>& out) {
  std::ifstream lines(table);
  std::string line;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, inode;
    words >> number >> local >> remote >> state;
    for (int skipped = 0; skipped < 6; ++skipped) words >> inode;
    const auto digits = std::string_view(local).substr(local.find(':') + 1);
    unsigned found = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), found, 16);
    if (state == listening && found == port) out.insert("socket:[" + inode + "]");
  }
}

/// The name of a process's program, as the system shows it.
std::string program_of(const fs::path& process) {
  std::string out;
  std::ifstream(process / "comm") >> out;
  return out;
}

bool has_one_of(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code denied;
  for (fs::directory_iterator files(process / "fd", denied), end; !denied && files != end;
       files.increment(denied)) {
    std::error_code gone;
    if (sockets.contains(fs::read_symlink(files->path(), gone).string())) return true;
  }
  return false;
}

}  // namespace

port_holder describe_holder(int process) {
  auto program = program_of(fs::path("/proc") / std::to_string(process));
  const bool same = program == program_of("/proc/self");
  return {process, std::move(program), same};
}

std::optional<port_holder> find_port_holder(std::uint16_t port) {
  std::set<std::string> sockets;
  for (const auto* table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_listeners(table, port, sockets);
  std::error_code failed;
  for (fs::directory_iterator all("/proc", failed), end; !failed && all != end;
       all.increment(failed)) {
    const auto name = all->path().filename().string();
    int process = 0;
    const auto [stopped, wrong] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (wrong != std::errc() || stopped != name.data() + name.size()) continue;
    if (!has_one_of(all->path(), sockets)) continue;
    return describe_holder(process);
  }
  return std::nullopt;
}

}  // namespace onceguard::cli
