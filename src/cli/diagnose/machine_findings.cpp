#include "cli/diagnose/machine_findings.hpp"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/address.hpp"
#include "base/number_in.hpp"
#include "base/value_text.hpp"
#include "http1/server/socket_file.hpp"
#include "sandbox/sandbox.hpp"

namespace onceguard::cli::diagnose {
namespace {

namespace fs = std::filesystem;

/// A process that listens on a port of this machine.
struct port_holder {
  int process = 0;
  std::string program;  ///< the name that the system shows
  bool same = false;    ///< it is this program
};

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

port_holder describe_holder(int process) {
  auto program = program_of(fs::path("/proc") / std::to_string(process));
  const bool same = program == program_of("/proc/self");
  return {process, std::move(program), same};
}

/// None: nobody, or a process of another user, whose files this one may not see.
std::optional<port_holder> find_port_holder(std::uint16_t port) {
  std::set<std::string> sockets;
  for (const auto* table : {"/proc/net/tcp", "/proc/net/tcp6"}) add_listeners(table, port, sockets);
  std::error_code failed;
  for (fs::directory_iterator all("/proc", failed), end; !failed && all != end;
       all.increment(failed)) {
    const auto name = all->path().filename().string();
    const auto process = base::number_in<int>(name);
    if (process && has_one_of(all->path(), sockets)) return describe_holder(*process);
  }
  return std::nullopt;
}

namespace asio = boost::asio;
using asio::ip::tcp;
using base::diagnosis;
using boost::system::error_code;
using grade = diagnosis::grade;
using endpoints = tcp::resolver::results_type;

/// Listens there for a moment.
error_code try_to_listen(const tcp::endpoint& address) {
  asio::io_context context(1);
  tcp::acceptor acceptor(context);
  error_code ec;
  error_code ignored;
  if (acceptor.open(address.protocol(), ec); ec) return ec;
  acceptor.set_option(asio::socket_base::reuse_address(true), ignored);
  if (acceptor.bind(address, ec); ec) return ec;
  acceptor.listen(1, ec);
  return ec;
}

/// The name of a finding about an option.
std::string finding_id(std::string_view option) {
  std::string id(option);
  for (char& c : id) c = c == '_' ? '-' : c;
  return id;
}

/// The folder in which the file is, for another name to be put behind it.
std::string parent_folder(const std::string& file) {
  const auto slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash + 1);
}

/// `remedy`: to take something else. `search`: the command that names the process.
diagnosis diagnose_taken(const std::string& id, const std::string& where,
                         const std::optional<port_holder>& holder, const std::string& remedy,
                         const std::string& search) {
  if (!holder) {
    return {grade::fault, id, where + " is taken by another process",
            "stop that process, or " + remedy + "; as root, `" + search + "` names it"};
  }
  const auto process = holder->program + " (process " + std::to_string(holder->process) + ")";
  if (holder->same) {
    return {grade::note, id, where + " is taken by " + process + ": a gateway runs here already",
            "nothing, if that is the one that is meant"};
  }
  return {grade::fault, id, where + " is taken by " + process, "stop that process, or " + remedy};
}

/// Whether an address is one of this machine: only then a socket can be bound to it.
bool is_local(const asio::ip::address& address) {
  asio::io_context context(1);
  error_code ec;
  tcp::socket socket(context);
  const tcp::endpoint any_port(address, 0);
  if (socket.open(any_port.protocol(), ec); ec) return false;
  socket.bind(any_port, ec);
  return !ec;
}

/// Whether a connection to `target` comes to a listener at `listen`.
bool leads_back(const tcp::endpoint& target, const base::endpoint& listen) {
  if (target.port() != listen.port) return false;
  asio::io_context context(1);
  tcp::resolver resolver(context);
  error_code ec;
  const auto found =
      resolver.resolve(listen.host, std::to_string(listen.port), tcp::resolver::passive, ec);
  if (ec || found.empty()) return false;
  const auto address = found.begin()->endpoint().address();
  return address == target.address() || (address.is_unspecified() && is_local(target.address()));
}

struct reached {
  error_code failed = asio::error::timed_out;
  const char* step = "resolve";
  std::optional<tcp::endpoint> address;  ///< the one that took the connection, or the first one
};

reached try_to_connect(const base::endpoint& target, milliseconds timeout) {
  asio::io_context context(1);
  tcp::resolver resolver(context);
  tcp::socket socket(context);
  reached out;
  resolver.async_resolve(
      target.host, std::to_string(target.port), [&](error_code ec, const endpoints& found) {
        if (ec || found.empty()) {
          out.failed = ec ? ec : error_code(asio::error::host_not_found);
          return;
        }
        out.step = "connect";
        out.address = found.begin()->endpoint();
        asio::async_connect(socket, found, [&](error_code failed, const tcp::endpoint& taken) {
          out.failed = failed;
          if (!failed) out.address = taken;
        });
      });
  context.run_for(timeout);
  if (context.stopped()) return out;
  const auto late = out;  // the handlers below are those of the cancelled operations
  resolver.cancel();
  error_code ignored;
  socket.close(ignored);
  context.restart();
  context.run();
  return late;
}

}  // namespace

diagnosis examine_listener(std::string_view option, const base::endpoint& listen) {
  const auto id = finding_id(option);
  const auto where = text_of(listen);
  asio::io_context context(1);
  tcp::resolver resolver(context);
  error_code ec;
  const auto found =
      resolver.resolve(listen.host, std::to_string(listen.port), tcp::resolver::passive, ec);
  if (ec || found.empty()) {
    return {grade::fault, id, where + ": the name has no address: " + ec.message(),
            "take an address of this machine"};
  }
  ec = try_to_listen(found.begin()->endpoint());
  if (!ec) return {grade::ok, id, where + " is free", {}};
  if (ec == asio::error::address_in_use) {
    return diagnose_taken(id, where, find_port_holder(listen.port), "take another port",
                          "ss -ltnp");
  }
  if (ec == asio::error::access_denied) {
    return {grade::fault, id, where + ": this user may not listen there",
            "take a port above 1023, or give the program CAP_NET_BIND_SERVICE"};
  }
  return {grade::fault, id, where + ": " + ec.message(), "take an address of this machine"};
}

std::size_t files_for(std::size_t connections) {
  constexpr std::size_t spare = 64;
  return 2 * connections + spare;
}

diagnosis examine_file_limit(std::size_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {grade::note, "file-limit", "the limit of open files can't be read", {}};
  }
  const auto needed = files_for(connections);
  const auto text = "the process may open " + std::to_string(limit.rlim_max) + " files, and " +
                    std::to_string(connections) + " connections need " + std::to_string(needed);
  if (limit.rlim_max >= needed) return {grade::ok, "file-limit", text, {}};
  return {grade::warning, "file-limit", text,
          "raise the limit (ulimit -Hn, LimitNOFILE), or lower [gateway] max_connections"};
}

diagnosis examine_sandbox(bool wanted) {
  if (!wanted) return {grade::note, "sandbox", "sandbox = \"off\": the process is not shut in", {}};
  const auto version = sandbox::landlock_version();
  if (version) {
    return {grade::ok, "sandbox", "the kernel has Landlock " + std::to_string(*version), {}};
  }
  return {grade::note, "sandbox",
          "the process could write wherever its user may: " + version.error().detail,
          "take a kernel with Landlock (5.13), and let the process use it"};
}

diagnosis examine_folder(std::string_view option, const std::string& folder) {
  const auto id = finding_id(option);
  auto file = folder + "/onceguard-doctor-XXXXXX";
  const int descriptor = ::mkstemp(file.data());
  if (descriptor < 0) {
    return {grade::fault, id, folder + ": no file can be made there: " + std::strerror(errno),
            "make the directory, and give it to the user of the gateway"};
  }
  ::close(descriptor);
  ::unlink(file.c_str());
  return {grade::ok, id, folder + " can be written", {}};
}

diagnosis examine_file(std::string_view option, const std::string& file) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
  if (descriptor >= 0) {
    ::close(descriptor);
    return {grade::ok, finding_id(option), file + " can be written", {}};
  }
  if (errno != ENOENT) {
    return {grade::fault, finding_id(option), file + ": can't be written: " + std::strerror(errno),
            "give the file to the user of the gateway"};
  }
  return examine_folder(option, parent_folder(file));
}

diagnosis examine_socket(std::string_view option, const std::string& path) {
  using kind = http1::socket_file::kind;
  const auto [found, process] = http1::examine_socket_file(path);
  if (found == kind::other) {
    return {grade::fault, finding_id(option), path + " is there, and is no socket",
            "remove the file, or take another path"};
  }
  if (found != kind::live) return examine_folder(option, parent_folder(path));
  std::optional<port_holder> holder;
  if (process != 0) holder = describe_holder(process);
  return diagnose_taken(finding_id(option), path, holder, "take another path", "ss -lxp");
}

diagnosis examine_room(std::string_view option, const std::string& file) {
  constexpr std::uintmax_t little_room = 256 * 1024 * 1024;
  const auto id = finding_id(option) + "-room";
  const auto folder = parent_folder(file);
  std::error_code failed;
  const auto volume = fs::space(folder, failed);
  if (failed) {
    return {grade::note, id, folder + ": the system does not report its free room", {}};
  }
  const auto shown = [](std::uintmax_t bytes) {
    constexpr std::uintmax_t mib = 1024 * 1024;
    return base::size_text(static_cast<std::int64_t>(bytes / mib * mib));
  };
  const auto text =
      folder + ": " + shown(volume.available) + " of " + shown(volume.capacity) + " are free";
  if (volume.available >= little_room && volume.available >= volume.capacity / 20) {
    return {grade::ok, id, text, {}};
  }
  return {grade::warning, id, text,
          "make room, or rotate the file: on a full volume its lines are lost"};
}

base::diagnoses examine_socket_rights(std::string_view option, const std::string& path) {
  struct ::stat found {};
  if (http1::examine_socket_file(path).found != http1::socket_file::kind::live) return {};
  // connect() needs the right to write.
  if (::stat(path.c_str(), &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  const std::string users =
      (found.st_mode & S_IWOTH) != 0 ? "every user" : "the users of its group";
  return {{grade::warning, finding_id(option) + "-rights",
           path + " asks for no token, and " + users +
               " of this machine may connect: whoever does "
               "acts as an operator",
           "chmod 600, or SocketMode=0600 in its socket unit; or set admin_token_file"}};
}

diagnosis examine_upstream(const gateway::upstream_params& upstream, const base::endpoint& listen,
                           milliseconds timeout) {
  const auto title = upstream.name + " (" + text_of(upstream.address) + ")";
  const auto found = try_to_connect(upstream.address, timeout);
  if (found.address && leads_back(*found.address, listen)) {
    return {grade::fault, "upstream", title + " is the address on which this gateway listens",
            "give the service another port, and name that one as the upstream"};
  }
  if (!found.failed) return {grade::ok, "upstream", title + " takes connections", {}};
  return {grade::fault, "upstream", title + ": " + found.step + ": " + found.failed.message(),
          "start the service, or correct the url of its [[upstream]]"};
}

}  // namespace onceguard::cli::diagnose
