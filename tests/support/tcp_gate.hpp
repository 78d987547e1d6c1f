// Stands between a client and a server: cuts the connection at a byte of the test's choice, or
// leads to another server.
#pragma once
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace onceguard::testing {

enum class direction : std::uint8_t { to_server, to_client };

class tcp_gate {
 public:
  explicit tcp_gate(int server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where = loopback(0);
    socklen_t length = sizeof where;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&where), length) != 0 ||
        ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &length) != 0) {
      throw std::runtime_error("the gate can't listen");
    }
    port_ = ntohs(where.sin_port);
    wake_ = ::eventfd(0, 0);
    thread_ = std::thread([this] { run(); });
  }
  tcp_gate(const tcp_gate&) = delete;
  tcp_gate& operator=(const tcp_gate&) = delete;
  ~tcp_gate() {
    stopping_ = true;
    wake();
    thread_.join();
    for (auto& each : pairs_) close(each);
    ::close(listener_);
    ::close(wake_);
  }

  [[nodiscard]] int port() const noexcept { return port_; }

  /// Lets `bytes` more pass in that direction, of all connections together; then each connection
  /// that there is breaks. Later ones pass.
  void cut_after(direction which, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    cut_ = cut{which, bytes};
  }
  /// Breaks the connections that there are. Later ones lead there.
  void lead_to(int server_port) {
    server_port_ = server_port;
    breaking_ = true;
    wake();
  }
  /// Is the cut still to come?
  [[nodiscard]] bool armed() {
    const std::lock_guard lock(mutex_);
    return cut_.has_value();
  }
  void disarm() {
    const std::lock_guard lock(mutex_);
    cut_.reset();
  }

 private:
  struct pair {
    int client = -1;
    int server = -1;
  };
  struct cut {
    direction which;
    std::uint64_t left;
  };

  static sockaddr_in loopback(int port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out.sin_port = htons(static_cast<std::uint16_t>(port));
    return out;
  }
  static void close(pair& pair) {
    ::close(pair.client);
    ::close(pair.server);
  }
  void wake() const {
    const std::uint64_t one = 1;
    if (::write(wake_, &one, sizeof one) < 0) throw std::runtime_error("eventfd");
  }

  void run() {
    while (!stopping_) {
      std::vector<pollfd> watched{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
      for (const auto& each : pairs_) {
        watched.push_back({each.client, POLLIN, 0});
        watched.push_back({each.server, POLLIN, 0});
      }
      if (::poll(watched.data(), watched.size(), -1) < 0) continue;
      if (stopping_) return;
      if (watched[0].revents != 0) break_all();
      std::vector<pair> left;
      bool cut_all = false;
      for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const auto& each = pairs_[i];
        bool good = true;
        if (watched[2 + 2 * i].revents != 0) {
          good = pass(each.client, each.server, direction::to_server, cut_all);
        }
        if (good && watched[3 + 2 * i].revents != 0) {
          good = pass(each.server, each.client, direction::to_client, cut_all);
        }
        if (good) {
          left.push_back(each);
        } else {
          close(pairs_[i]);
        }
      }
      pairs_ = std::move(left);
      if (cut_all) {
        for (auto& each : pairs_) close(each);
        pairs_.clear();
      }
      if (watched[1].revents != 0) take_connection();
    }
  }

  /// Woken: nothing was read for any of them.
  void break_all() {
    std::uint64_t woken = 0;
    if (::read(wake_, &woken, sizeof woken) < 0) throw std::runtime_error("eventfd");
    if (!breaking_.exchange(false)) return;
    for (auto& each : pairs_) close(each);
    pairs_.clear();
  }

  void take_connection() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    const auto where = loopback(server_port_);
    pair made{client, server};
    if (::connect(server, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) {
      return close(made);
    }
    const int yes = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ::setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    pairs_.push_back(made);
  }

  /// False: that connection is over.
  bool pass(int version, int descriptor, direction which, bool& cut_all) {
    std::array<char, 65'536> buffer{};
    const auto got = ::recv(version, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    auto count = static_cast<std::uint64_t>(got);
    {
      const std::lock_guard lock(mutex_);
      if (cut_ && cut_->which == which) {
        if (cut_->left < count) {
          count = cut_->left;
          cut_.reset();
          cut_all = true;
        } else {
          cut_->left -= count;
        }
      }
    }
    for (std::uint64_t sent = 0; sent < count;) {
      const auto more = ::send(descriptor, buffer.data() + sent, count - sent, MSG_NOSIGNAL);
      if (more <= 0) return false;
      sent += static_cast<std::uint64_t>(more);
    }
    return !cut_all;
  }

  std::atomic<int> server_port_;
  std::atomic<bool> breaking_{false};
  int port_ = 0;
  int listener_ = -1;
  int wake_ = -1;
  std::vector<pair> pairs_;  // the thread's
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::optional<cut> cut_;
  std::thread thread_;
};

}  // namespace onceguard::testing
