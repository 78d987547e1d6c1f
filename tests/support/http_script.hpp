// A server that answers HTTP requests as a test says, and keeps the requests.
#pragma once
#include <arpa/inet.h>
#include <deque>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace onceguard::testing {

class http_script {
 public:
  /// An answer: its status and its body.
  using scripted_answer = std::pair<int, std::string>;

  /// `otherwise`: what it answers when nothing is scripted, for a request with its headers.
  explicit http_script(std::function<scripted_answer(const std::string&)> otherwise)
      : otherwise_(std::move(otherwise)) {
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
  http_script(const http_script&) = delete;
  http_script& operator=(const http_script&) = delete;
  ~http_script() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// What it answers next.
  void answer(int status, const std::string& body) {
    const std::lock_guard lock(mutex_);
    answers_.emplace_back(status, body);
  }
  /// What came since the last call, each with its headers; with that text in it.
  std::vector<std::string> requests(const std::string& text = {}) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (auto& each : std::exchange(requests_, {})) {
      if (each.find(text) != each.npos) out.push_back(each);
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
      if (end == out.npos) continue;
      if (length == out.npos) break;  // it has no body
      whole = end + 4 + std::stoul(out.substr(length + 16));
    }
    return out;
  }

  std::string answer_to(const std::string& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    scripted_answer out;
    if (!answers_.empty()) {
      out = answers_.front();
      answers_.pop_front();
    } else {
      out = otherwise_(request);
    }
    return "HTTP/1.1 " + std::to_string(out.first) +
           " Scripted\r\nConnection: close\r\nContent-Length: " +
           std::to_string(out.second.size()) + "\r\n\r\n" + out.second;
  }

  const std::function<scripted_answer(const std::string&)> otherwise_;
  int port_ = 0;
  int listener_ = -1;
  std::mutex mutex_;
  std::deque<scripted_answer> answers_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace onceguard::testing
