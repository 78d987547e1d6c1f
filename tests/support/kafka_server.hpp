// A stand-in for Kafka, of the tests' own: librdkafka's mock cluster in the program kafka_server,
// on free ports of this machine, gone with the tests.
#pragma once
#include <arpa/inet.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/free_port.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class kafka_server {
 public:
  /// Starts it and waits until it answers.
  kafka_server() {
    const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    server_ =
        begin_program({}, {tests / "kafka_server", std::to_string(port_)}, folder_.file("log"));
    while ((servers_ = answer_to("servers")).empty()) {
      if (::waitpid(server_, nullptr, WNOHANG) != 0) {
        throw std::runtime_error("kafka_server does not start: " + output());
      }
      ::poll(nullptr, 0, 5);
    }
    servers_ = servers_.substr(servers_.find(' ') + 1);
  }
  kafka_server(const kafka_server&) = delete;
  kafka_server& operator=(const kafka_server&) = delete;
  ~kafka_server() {
    go_on();
    ::kill(server_, SIGKILL);
    wait_for_end(server_);
  }

  [[nodiscard]] std::string url(const std::string& topic, const std::string& more = {}) const {
    return "kafka://" + servers_ + '/' + topic + more;
  }
  [[nodiscard]] const std::string& servers() const noexcept { return servers_; }

  void create_topic(const std::string& name, int partitions) const {
    order("topic " + name + ' ' + std::to_string(partitions));
  }
  /// It ends all connections, and takes none. The mock can't be killed: it has its data in memory.
  void go_down() const { order("down"); }
  void come_up() const { order("up"); }
  /// The next requests of this kind (the number in Kafka's protocol) get the error.
  void fail(int request, int error, int times = 1) const {
    order("fail " + std::to_string(request) + ' ' + std::to_string(error) + ' ' +
          std::to_string(times));
  }
  /// No more of them do.
  void heal(int request) const { order("heal " + std::to_string(request)); }
  /// None of its threads runs any more when this returns.
  void pause() const {
    ::kill(server_, SIGSTOP);
    int status = 0;
    ::waitpid(server_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_, SIGCONT); }

 private:
  void order(const std::string& text) const {
    const auto answer = answer_to(text);
    if (answer.starts_with("ok")) return;
    throw std::runtime_error("kafka_server: " + text + ": " + answer + output());
  }
  /// Empty: nobody listens.
  [[nodiscard]] std::string answer_to(const std::string& text) const {
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<std::uint16_t>(port_));
    std::string out;
    const auto line = text + '\n';
    if (::connect(client, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 &&
        ::send(client, line.data(), line.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(line.size())) {
      for (char next = 0; ::recv(client, &next, 1, 0) == 1 && next != '\n';) out += next;
    }
    ::close(client);
    return out;
  }
  [[nodiscard]] std::string output() const {
    std::ostringstream out;
    out << std::ifstream(folder_.file("log")).rdbuf();
    return out.str();
  }

  temporary_folder folder_;
  const int port_ = free_port();
  std::string servers_;
  pid_t server_ = -1;
};

}  // namespace onceguard::testing
