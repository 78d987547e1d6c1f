// A Mosquitto server of the tests' own: on a free port of this machine, in a temporary folder, gone
// with the tests. What it has saved is there again when it is started anew.
#pragma once
#include <arpa/inet.h>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/free_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class mosquitto_server {
 public:
  /// Starts it. `settings` are lines of its configuration, the first of them of its one listener.
  explicit mosquitto_server(const std::string& settings = "allow_anonymous true\n") {
    // Saved when it is asked for alone: a save writes everything, and stops the server meanwhile.
    // Without a limit on what waits: it drops what is above, and confirms all the same.
    std::ofstream(folder_.file("settings"))
        << "listener " << port_ << " 127.0.0.1\n"
        << settings << "\nuser root\npersistence true\npersistence_location " << folder_.file("")
        << "\nautosave_interval 0\nmax_queued_messages 0\n";
    start();
  }
  mosquitto_server(const mosquitto_server&) = delete;
  mosquitto_server& operator=(const mosquitto_server&) = delete;
  ~mosquitto_server() { stop(SIGKILL); }

  [[nodiscard]] int port() const noexcept { return port_; }
  /// `login`: "user:password@", or nothing.
  [[nodiscard]] std::string url(const std::string& path, const std::string& login = {},
                                const std::string& scheme = "mqtt") const {
    return scheme + "://" + login + "127.0.0.1:" + std::to_string(port_) + '/' + path;
  }

  /// Starts it and waits until it listens.
  void start() {
    if (server_) return;
    server_ = begin_program({}, {"/usr/sbin/mosquitto", "-c", folder_.file("settings")},
                            folder_.file("log"));
    while (!listens()) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("mosquitto does not start: " + output());
      }
      ::poll(nullptr, 0, 5);
    }
  }
  /// Writes all sessions and messages to the disk.
  void save() const {
    const auto before = saved_file();
    ::kill(server_.value(), SIGUSR1);
    wait_until("a save", [&] { return saved_file() != before; });
  }
  /// SIGTERM ends it orderly, SIGKILL as a crash does.
  void stop(int signal) {
    if (!server_) return;
    go_on();
    ::kill(*server_, signal);
    wait_for_end(*server_);
    server_.reset();
  }
  /// It does not run any more when this returns.
  void pause() const {
    ::kill(server_.value(), SIGSTOP);
    int status = 0;
    ::waitpid(*server_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  /// A client of its own package, `mosquitto_pub` or `mosquitto_sub`: its output.
  [[nodiscard]] std::string run_client(const std::string& name,
                                       std::vector<std::string> words) const {
    words.insert(words.begin(),
                 {"/usr/bin/" + name, "-V", "5", "-h", "127.0.0.1", "-p", std::to_string(port_)});
    const auto out = folder_.file("client " + std::to_string(++clients_));
    run_program({}, words, out);
    return content_of(out);
  }

  [[nodiscard]] std::string output() const { return content_of(folder_.file("log")); }

 private:
  static std::string content_of(const std::string& file) {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }

  /// A save makes another file. Zero: there is none.
  [[nodiscard]] ino_t saved_file() const {
    struct stat found {};
    return ::stat(folder_.file("mosquitto.db").c_str(), &found) == 0 ? found.st_ino : 0;
  }

  [[nodiscard]] bool listens() const {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons(static_cast<std::uint16_t>(port_));
    const bool out = ::connect(client, reinterpret_cast<sockaddr*>(&server), sizeof server) == 0;
    ::close(client);
    return out;
  }

  temporary_folder folder_;
  const int port_ = free_port();
  std::optional<pid_t> server_;
  mutable int clients_ = 0;
};

}  // namespace onceguard::testing
