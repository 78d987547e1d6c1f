// A RabbitMQ server of the tests' own: on free ports of this machine, in a temporary folder, gone
// with the tests.
#pragma once
#include <fstream>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <vector>

#include "support/free_port.hpp"
#include "support/rabbitmq_session.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class rabbitmq_server {
 public:
  static constexpr const char* programs = "/usr/lib/rabbitmq/bin/";

  /// Starts it; `settings` are those of the application `rabbit`, as Erlang writes them; `plugins`:
  /// names with commas between them.
  explicit rabbitmq_server(const std::string& settings = {}, const std::string& plugins = {}) {
    ::chmod(folder_.path().c_str(), 0777);  // the server's user puts its files there
    std::ofstream(file("plugins")) << "[" << plugins << "].\n";
    std::ofstream(file("rabbitmq.conf")) << "";
    std::ofstream(file("advanced.config"))
        << "[{rabbit, [" << settings << "]}, {rabbitmq_management, [{listener, [{port, "
        << management_port_ << "}, {ip, \"127.0.0.1\"}]}]}].\n";
    // Erlang's list of nodes. If there were none, the server would start one that outlives it.
    names_ = begin_program(
        as_, {"/usr/bin/epmd", "-port", std::to_string(names_port_), "-address", "127.0.0.1"},
        file("log"));
    start();
  }
  rabbitmq_server(const rabbitmq_server&) = delete;
  rabbitmq_server& operator=(const rabbitmq_server&) = delete;
  ~rabbitmq_server() {
    stop();
    ::kill(names_, SIGKILL);
    wait_for_end(names_);
  }

  [[nodiscard]] std::string url(const std::string& queue) const {
    return "amqp://127.0.0.1:" + std::to_string(port_) + "/" + queue;
  }
  [[nodiscard]] int port() const noexcept { return port_; }
  /// As a parameter of a queue's URL; `login`: "user:password@", or nothing.
  [[nodiscard]] std::string management(const std::string& login = {}) const {
    return "management=http://" + login + "127.0.0.1:" + std::to_string(management_port_);
  }
  [[nodiscard]] rabbitmq_session session() const { return rabbitmq_session(port_); }

  /// Starts it with what it had stored, and waits until it takes logins.
  void start() {
    if (server_) return;
    server_ = begin_program(as_, command({"rabbitmq-server"}), file("log"));
    while (!answers()) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("RabbitMQ does not start: " + what_it_said());
      }
      ::poll(nullptr, 0, 20);
    }
  }
  /// As a crash does it.
  void stop() {
    if (!server_) return;
    ::kill(*server_, SIGKILL);
    wait_for_end(*server_);
    server_.reset();
  }
  /// None of its threads runs any more when this returns.
  void pause() const {
    ::kill(server_.value(), SIGSTOP);
    int status = 0;
    ::waitpid(server_.value(), &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  /// Runs rabbitmqctl.
  void control(std::vector<std::string> words) const {
    words.insert(words.begin(), "rabbitmqctl");
    run_program(as_, command(words), file("log"));
  }

  /// Runs Erlang expressions in the server, in a hundredth of the time of rabbitmqctl's start.
  void evaluate(const std::string& expressions) const {
    const auto peer = "127.0.0.1:" + std::to_string(peers_port_);
    const auto ask = "printf '%s\\n' \"$0\" | erl_call -address " + peer + " -e | grep '^{ok'";
    run_program(
        as_, {"/usr/bin/env", "HOME=" + folder_.path().string(), "/bin/sh", "-c", ask, expressions},
        file("log"));
  }

  [[nodiscard]] std::string what_it_said() const {
    std::ostringstream out;
    out << std::ifstream(file("log")).rdbuf();
    return out.str();
  }

 private:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  /// A program of RabbitMQ's, for this server. No setting of the machine's server gets in.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& words) const {
    const std::string loopback = "-kernel inet_dist_use_interface {127,0,0,1}";
    const auto control_port = std::to_string(control_port_);
    std::vector<std::string> out{
        "/usr/bin/env", "-C", folder_.path().string(), "HOME=" + folder_.path().string(),
        "ERL_EPMD_PORT=" + std::to_string(names_port_), "RABBITMQ_NODENAME=onceguard@localhost",
        "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_CONFIG_FILE=" + file("rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE=" + file("advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE=" + file("plugins"), "RABBITMQ_MNESIA_BASE=" + file("data"),
        "RABBITMQ_LOG_BASE=" + file("logs"), "RABBITMQ_PID_FILE=" + file("pid"),
        "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + std::to_string(port_),
        "RABBITMQ_DIST_PORT=" + std::to_string(peers_port_),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=" + loopback, "RABBITMQ_CTL_ERL_ARGS=" + loopback,
        "RABBITMQ_CTL_DIST_PORT_MIN=" + control_port, "RABBITMQ_CTL_DIST_PORT_MAX=" + control_port,
        // The shell becomes the server, which then ends with the tests.
        "RUNNING_UNDER_SYSTEMD=true"};
    out.push_back(programs + words.front());
    out.insert(out.end(), words.begin() + 1, words.end());
    return out;
  }

  [[nodiscard]] bool answers() const {
    try {
      static_cast<void>(session());
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }

  const server_user as_ = server_user::find();
  temporary_folder folder_;
  const int port_ = free_port();
  const int names_port_ = free_port();
  const int peers_port_ = free_port();
  const int control_port_ = free_port();
  const int management_port_ = free_port();
  pid_t names_ = 0;
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
