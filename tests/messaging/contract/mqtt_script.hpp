// A server that answers packets of MQTT as a test says, and keeps what it received. It is written
// from bytes alone: nothing of the client under test is in it.
#pragma once
#include <arpa/inet.h>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace onceguard::testing {

/// The bytes of a packet of less than 128 bytes.
inline std::string mqtt_packet(int first_byte, const std::string& body) {
  return std::string{static_cast<char>(first_byte), static_cast<char>(body.size())} + body;
}
/// `properties` without their size.
inline std::string mqtt_connack(bool present, int reason, const std::string& properties = {}) {
  return mqtt_packet(0x20, std::string{static_cast<char>(present), static_cast<char>(reason),
                                       static_cast<char>(properties.size())} +
                               properties);
}
inline std::string mqtt_suback(int reason) {
  return mqtt_packet(0x90, std::string{0, 1, 0, static_cast<char>(reason)});
}
/// QoS 1, of the topic `t`.
inline std::string mqtt_publish(int packet_id, const std::string& payload, bool repeated = false) {
  return mqtt_packet(repeated ? 0x3a : 0x32,
                     std::string{0, 1, 't', 0, static_cast<char>(packet_id), 0} + payload);
}
inline std::string mqtt_puback(std::string_view packet_id, int reason) {
  return mqtt_packet(0x40, std::string(packet_id) + static_cast<char>(reason));
}

class mqtt_script {
 public:
  struct packet {
    int type = 0;      ///< 1: CONNECT …
    std::string body;  ///< without the head
    /// Of PUBLISH (QoS 1, of the topic `t`) and PUBACK: two bytes.
    [[nodiscard]] std::string packet_id() const { return body.substr(type == 3 ? 3 : 0, 2); }
  };
  /// What is sent when the packet has arrived.
  using answerer = std::function<std::string(const packet&)>;

  explicit mqtt_script(answerer answer) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof server;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&server), length) != 0 ||
        ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&server), &length) != 0) {
      throw std::runtime_error("the scripted server can't listen");
    }
    port_ = ntohs(server.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  mqtt_script(const mqtt_script&) = delete;
  mqtt_script& operator=(const mqtt_script&) = delete;
  /// The clients must be gone.
  ~mqtt_script() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] std::string consumer_url(const std::string& more = {}) const {
    return publisher_url() + "?client_id=c" + more;
  }
  [[nodiscard]] std::string publisher_url() const {
    return "mqtt://127.0.0.1:" + std::to_string(port_) + "/t";
  }
  /// All that came so far.
  [[nodiscard]] std::vector<packet> packets() const {
    const std::lock_guard lock(mutex_);
    return packets_;
  }
  [[nodiscard]] std::vector<packet> packets(int type) const {
    std::vector<packet> out;
    for (auto& each : packets()) {
      if (each.type == type) out.push_back(std::move(each));
    }
    return out;
  }

 private:
  /// One client after the other.
  void serve() {
    while (true) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      std::string bytes;
      char part[4'096];
      bool open = true;
      while (open) {
        const auto got = ::recv(client, part, sizeof part, 0);
        if (got <= 0) break;
        bytes.append(part, static_cast<std::size_t>(got));
        while (open && bytes.size() >= 2 && bytes.size() >= size_of(bytes)) {
          const packet next{static_cast<unsigned char>(bytes[0]) >> 4,
                            bytes.substr(2, size_of(bytes) - 2)};
          bytes.erase(0, size_of(bytes));
          const auto sent = keep(next);
          static_cast<void>(::send(client, sent.data(), sent.size(), MSG_NOSIGNAL));
          open = next.type != 14;
        }
      }
      ::close(client);
    }
  }

  static std::size_t size_of(const std::string& bytes) {
    return 2 + static_cast<unsigned char>(bytes[1]);
  }

  std::string keep(const packet& next) {
    const std::lock_guard lock(mutex_);
    packets_.push_back(next);
    return answer_(next);
  }

  const answerer answer_;
  int port_ = 0;
  int listener_ = -1;
  mutable std::mutex mutex_;
  std::vector<packet> packets_;
  std::thread thread_;
};

}  // namespace onceguard::testing
