// A stand-in for Amazon SQS, of the tests' own: the npm package fauxqs, on a free port of this
// machine, with its data in a temporary folder, gone with the tests. What it has stored is there
// again when it is started anew. It checks no signatures.
#pragma once
#include <cstdlib>
#include <fstream>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/free_port.hpp"
#include "support/node_program.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class sqs_server {
 public:
  static constexpr const char* key_id = "AKIDEXAMPLE";
  static constexpr const char* secret = "the-secret-of-the-tests";

  /// Starts it, and gives this process credentials.
  sqs_server() {
    ::setenv("AWS_ACCESS_KEY_ID", key_id, 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    ::unsetenv("AWS_SESSION_TOKEN");
    start();
  }
  sqs_server(const sqs_server&) = delete;
  sqs_server& operator=(const sqs_server&) = delete;
  ~sqs_server() { stop(); }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url(const std::string& queue, const std::string& more = {}) const {
    return url_at(port_, queue, more);
  }
  /// `port`: of the server, or of what stands before it.
  [[nodiscard]] static std::string url_at(int port, const std::string& queue,
                                          const std::string& more = {}) {
    return "sqs://us-east-1/" + queue + "?endpoint=http://127.0.0.1:" + std::to_string(port) + more;
  }

  /// Starts it and waits until it answers.
  void start() {
    if (server_) return;
    server_ = begin_program({},
                            {node_program(), tests_folder() / "support/sqs_server.mjs",
                             std::to_string(port_), folder_.file("data")},
                            folder_.file("log"));
    while (http_answer(port_, health_request).find("200 OK") == std::string::npos) {
      if (::waitpid(*server_, nullptr, WNOHANG) != 0) {
        server_.reset();
        throw std::runtime_error("fauxqs does not start: " + output());
      }
      ::poll(nullptr, 0, 10);
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
    ::waitpid(*server_, &status, WUNTRACED);
  }
  void go_on() const { ::kill(server_.value(), SIGCONT); }

  /// A request as another program makes it; the answer's body.
  std::string ask(const std::string& action, const std::string& body) const {
    const auto answer = http_answer(
        port_, "POST / HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) +
                   "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS." +
                   action + "\r\nConnection: close\r\nContent-Length: " +
                   std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto end = answer.find("\r\n\r\n");
    if (answer.find(" 200 OK") == answer.npos || end == answer.npos) {
      throw std::runtime_error(action + " failed: " + answer + output());
    }
    return answer.substr(end + 4);
  }
  /// `attributes`: members of a JSON object.
  void create_queue(const std::string& name, const std::string& attributes) const {
    ask("CreateQueue", R"({"QueueName":")" + name + R"(","Attributes":{)" + attributes + "}}");
  }
  /// Names the queue in requests.
  [[nodiscard]] std::string queue_url(const std::string& name) const {
    const auto answer = ask("GetQueueUrl", R"({"QueueName":")" + name + R"("})");
    const auto begin = answer.find("http");
    return answer.substr(begin, answer.find('"', begin) - begin);
  }

 private:
  static constexpr const char* health_request =
      "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

  [[nodiscard]] std::string output() const {
    std::ostringstream out;
    out << std::ifstream(folder_.file("log")).rdbuf();
    return out.str();
  }

  temporary_folder folder_;
  int port_ = free_port();
  std::optional<pid_t> server_;
};

}  // namespace onceguard::testing
