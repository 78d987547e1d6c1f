// A connection of an application to a decision service, as its client has it. Its other end is a
// socket of the service's kernel. What is sent arrives in order: behind what is lost nothing does.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "world.hpp"

namespace onceguard::sim {

/// A process that sockets are opened to.
class socket_host {
 public:
  virtual ~socket_host() = default;
  [[nodiscard]] virtual machine& host() = 0;
  [[nodiscard]] virtual bool listens() const = 0;
  /// On its machine.
  virtual void accept(int socket) = 0;
};

class wire : public std::enable_shared_from_this<wire> {
 public:
  wire(world& around, machine& client, socket_host& service)
      : world_(around), client_(client), service_(service) {}
  /// It opens with the first bytes.
  void send(std::string bytes);
  void close();
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::string& received() noexcept { return received_; }
  /// Bytes have come, or the end.
  std::function<void()> on_change;

 private:
  /// One direction.
  struct sequence {
    std::uint64_t sent = 0;
    std::uint64_t next = 0;
    std::map<std::uint64_t, std::function<void()>> early;
  };
  void to_service(message_kind kind, std::function<void()> arrive);
  void to_client(message_kind kind, std::function<void()> arrive);
  static void arrive(sequence& direction, std::uint64_t number, std::function<void()> act);
  /// Whether the connection breaks at this message.
  [[nodiscard]] bool breaks();
  void open();
  /// For who writes to nobody.
  void refuse();
  void end_at_service();
  void end_at_client();

  world& world_;
  machine& client_;
  socket_host& service_;
  sequence forth_;
  sequence back_;
  int socket_ = -1;  ///< of the service; negative: it is closed
  bool opened_ = false;
  bool closed_ = false;  ///< by the client
  bool ended_ = false;   ///< by the service, as the client knows
  std::string received_;
};
using wire_ptr = std::shared_ptr<wire>;

}  // namespace onceguard::sim
