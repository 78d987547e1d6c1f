// A NATS server of the tests' own, with JetStream: on a free port of this machine, in a temporary
// folder, gone with the tests. What its streams have stored is there again when it is started anew.
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
#include <unistd.h>

#include "support/free_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class nats_server {
 public:
  /// Starts it; `settings` are lines of its configuration.
  explicit nats_server(const std::string& settings = {}) {
    std::ofstream(folder_.file("settings")) << settings << '\n';
    start();
  }
  nats_server(const nats_server&) = delete;
  nats_server& operator=(const nats_server&) = delete;
  ~nats_server() { stop(SIGKILL); }

  [[nodiscard]] int port() const noexcept { return port_; }
  /// `login`: "user:password@", or nothing.
  [[nodiscard]] std::string url(const std::string& path = {}, const std::string& login = {}) const {
    return "nats://" + login + "127.0.0.1:" + std::to_string(port_) + path;
  }

  /// Starts it and waits until it answers.
  void start() {
    if (server_) return;
    server_ =
        begin_program({},
                      {"/usr/sbin/nats-server", "-c", folder_.file("settings"), "-js", "-sd",
                       folder_.file("streams"), "-a", "127.0.0.1", "-p", std::to_string(port_)},
                      folder_.file("log"));
    while (!answers()) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("nats-server does not start: " + output());
      }
      ::poll(nullptr, 0, 5);
    }
  }
  /// SIGTERM ends it orderly, SIGKILL as a crash does.
  void stop(int signal = SIGTERM) {
    if (!server_) return;
    go_on();
    ::kill(*server_, signal);
    wait_for_end(*server_);
    server_.reset();
  }
  /// None of its threads runs any more when this returns.
  void pause() const {
    ::kill(server_.value(), SIGSTOP);
    int status = 0;
    ::waitpid(*server_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  /// Publishes without any library, with headers as they are, and waits until it was read.
  void send_raw(const std::string& subject, const std::string& headers,
                const std::string& payload) const {
    const int client = connected();
    const auto bytes = "CONNECT {\"headers\":true,\"verbose\":false}\r\nHPUB " + subject + ' ' +
                       std::to_string(headers.size()) + ' ' +
                       std::to_string(headers.size() + payload.size()) + "\r\n" + headers +
                       payload + "\r\nPING\r\n";
    bool done = client >= 0 && ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                   static_cast<ssize_t>(bytes.size());
    std::string answer;
    while (done && answer.find("PONG") == answer.npos) {
      char part[4'096];
      const auto size = ::recv(client, part, sizeof part, 0);
      done = size > 0;
      if (done) answer.append(part, static_cast<std::size_t>(size));
    }
    ::close(client);
    if (!done || answer.find("-ERR") != answer.npos) {
      throw std::runtime_error("nats-server refused a message: " + answer);
    }
  }

  [[nodiscard]] std::string output() const {
    std::ostringstream out;
    out << std::ifstream(folder_.file("log")).rdbuf();
    return out.str();
  }

 private:
  /// It greets whoever connects, once its streams are there.
  [[nodiscard]] bool answers() const {
    const int client = connected();
    if (client < 0) return false;
    char greeting[4]{};
    pollfd readable{client, POLLIN, 0};
    const bool greeted = ::poll(&readable, 1, 1'000) == 1 &&
                         ::recv(client, greeting, sizeof greeting, 0) == 4 &&
                         std::string(greeting, 4) == "INFO";
    ::close(client);
    return greeted;
  }
  /// A socket; below zero: nobody listens.
  [[nodiscard]] int connected() const {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port_));
    if (::connect(client, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0) return client;
    ::close(client);
    return -1;
  }

  temporary_folder folder_;
  const int port_ = free_port();
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
