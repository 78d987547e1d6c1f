// A PostgreSQL server of the tests' own: on a free port of this machine, in a temporary folder,
// gone with the tests.
#pragma once
#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <libpq-fe.h>
#include <optional>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "support/free_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class postgres_server {
 public:
  static constexpr const char* programs = "/usr/lib/postgresql/15/bin/";

  /// Starts it; `settings` are lines for postgresql.conf.
  explicit postgres_server(const std::string& settings = {}) {
    ::chmod(folder_.path().c_str(), 0777);  // the server's user puts its files there
    run_program(as_, {"/bin/cp", "-a", empty_cluster(), cluster()}, log());
    std::ofstream(folder_.file("settings"))
        << "port = " << port_ << "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '"
        << folder_.path().string() << "'\nfsync = off\nlog_statement = none\n"
        << "max_connections = 60\n"
        << settings;
    start();
  }
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;
  ~postgres_server() { stop(SIGQUIT); }

  /// The one that all tests of this program share.
  static postgres_server& shared() {
    static postgres_server all;
    return all;
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url(const std::string& database = "postgres",
                                const std::string& user = "postgres") const {
    return url_at(port_, database, user);
  }
  [[nodiscard]] static std::string url_at(int port, const std::string& database = "postgres",
                                          const std::string& user = "postgres") {
    return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port) + "/" + database;
  }

  /// Starts it and waits until it takes connections.
  void start() {
    if (server_) return;
    server_ = begin_program(
        as_,
        {std::string(programs) + "postgres", "-D", cluster(), "-c",
         "config_file=" + folder_.file("settings"), "-c", "hba_file=" + cluster() + "/pg_hba.conf",
         "-c", "ident_file=" + cluster() + "/pg_ident.conf"},
        log());
    const auto where = url();
    while (PQping(where.c_str()) != PQPING_OK) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("the server does not start: " + what_it_said());
      }
      ::poll(nullptr, 0, 5);
    }
  }
  /// SIGINT ends it orderly, SIGQUIT as a crash does.
  void stop(int signal = SIGINT) {
    if (!server_) return;
    go_on();
    ::kill(*server_, signal);
    wait_for_end(*server_);
    server_.reset();
  }

  /// Stops all of its processes where they are.
  void pause() { signal_all(SIGSTOP); }
  void go_on() { signal_all(SIGCONT); }

  [[nodiscard]] std::string what_it_said() const {
    std::ostringstream out;
    out << std::ifstream(log()).rdbuf();
    return out.str();
  }

 private:
  [[nodiscard]] std::string cluster() const { return folder_.file("cluster"); }
  [[nodiscard]] std::string log() const { return folder_.file("log"); }

  /// A cluster as initdb makes it, made once and kept, as that takes a second.
  std::string empty_cluster() const {
    const auto kept = std::filesystem::temp_directory_path() /
                      ("onceguard-postgres-15-" + std::to_string(as_.user));
    struct stat found {};
    if (::stat((kept / "PG_VERSION").c_str(), &found) != 0 || found.st_uid != as_.user) {
      const auto made = folder_.file("empty");
      run_program(as_,
                  {std::string(programs) + "initdb", "-D", made, "--no-sync", "-A", "trust", "-U",
                   "postgres", "-E", "UTF8", "--locale=C"},
                  log());
      std::error_code another_was_first;
      std::filesystem::rename(made, kept, another_was_first);
      if (another_was_first && !std::filesystem::exists(kept / "PG_VERSION")) return made;
    }
    return kept.string();
  }

  void signal_all(int signal) const {
    if (!server_) return;
    ::kill(*server_, signal);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto name = entry.path().filename().string();
      if (!std::all_of(name.begin(), name.end(), ::isdigit)) continue;
      std::ifstream file(entry.path() / "stat");
      std::string stat;
      std::getline(file, stat);
      const auto end = stat.rfind(')');
      if (end == std::string::npos) continue;
      std::istringstream rest(stat.substr(end + 1));
      char state = 0;
      pid_t parent = 0;
      rest >> state >> parent;
      if (parent == *server_) ::kill(static_cast<pid_t>(std::stol(name)), signal);
    }
  }

  const server_user as_ = server_user::find();
  temporary_folder folder_;
  const int port_ = free_port();
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
