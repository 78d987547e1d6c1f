// A server that answers requests to Amazon SQS as a test says, and keeps the requests; and the
// environment's variables for as long as a test lasts.
#pragma once
#include <arpa/inet.h>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace onceguard::testing {

/// A variable of the environment; nullopt: it is not set.
class scoped_variable {
 public:
  scoped_variable(std::string name, const std::optional<std::string>& value)
      : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  scoped_variable(const scoped_variable&) = delete;
  scoped_variable& operator=(const scoped_variable&) = delete;
  ~scoped_variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }

  std::string name_;
  std::optional<std::string> before_;
};

class sqs_script {
 public:
  sqs_script() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof where;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&where), length) != 0 ||
        ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &length) != 0) {
      throw std::runtime_error("the scripted server can't listen");
    }
    port_ = ntohs(where.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  sqs_script(const sqs_script&) = delete;
  sqs_script& operator=(const sqs_script&) = delete;
  ~sqs_script() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] std::string url(const std::string& queue, const std::string& more = {}) const {
    return "sqs://us-east-1/" + queue + "?endpoint=http://127.0.0.1:" + std::to_string(port_) +
           more;
  }
  /// What it answers next. Afterwards, and between: the queue's URL and its attributes to whoever
  /// asks for these, and {} to others.
  void answer(int status, const std::string& body) {
    const std::lock_guard lock(mutex_);
    answers_.emplace_back(status, body);
  }
  /// What came since the last call, each with its headers, of that action; empty: of all.
  std::vector<std::string> requests(const std::string& action = {}) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (auto& each : std::exchange(requests_, {})) {
      if (each.find("X-Amz-Target: AmazonSQS." + action) != each.npos) out.push_back(each);
    }
    return out;
  }

 private:
  void serve() {
    while (true) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      const auto text = answer_to(read(client));
      static_cast<void>(::send(client, text.data(), text.size(), MSG_NOSIGNAL));
      ::close(client);
    }
  }

  static std::string read(int client) {
    std::string out;
    std::size_t whole = std::string::npos;
    char part[4'096];
    while (out.size() < whole) {
      const auto got = ::recv(client, part, sizeof part, 0);
      if (got <= 0) break;
      out.append(part, static_cast<std::size_t>(got));
      const auto end = out.find("\r\n\r\n");
      const auto length = out.find("Content-Length: ");
      if (end == out.npos || length == out.npos) continue;
      whole = end + 4 + std::stoul(out.substr(length + 16));
    }
    return out;
  }

  std::string answer_to(const std::string& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    std::pair<int, std::string> out{200, "{}"};
    if (!answers_.empty()) {
      out = answers_.front();
      answers_.pop_front();
    } else if (request.find("AmazonSQS.GetQueueUrl") != request.npos) {
      out.second = R"({"QueueUrl":"http://queue"})";
    } else if (request.find("AmazonSQS.GetQueueAttributes") != request.npos) {
      out.second = R"({"Attributes":{"VisibilityTimeout":"30","MessageRetentionPeriod":"345600",)"
                   R"("MaximumMessageSize":"1048576","ApproximateNumberOfMessages":"3"}})";
    }
    return "HTTP/1.1 " + std::to_string(out.first) +
           " Scripted\r\nConnection: close\r\nContent-Length: " +
           std::to_string(out.second.size()) + "\r\n\r\n" + out.second;
  }

  int port_ = 0;
  int listener_ = -1;
  std::mutex mutex_;
  std::deque<std::pair<int, std::string>> answers_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace onceguard::testing
