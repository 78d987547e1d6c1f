// The processes of a world, and those of them that requests of clients come to.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "history.hpp"
#include "scene.hpp"
#include "world.hpp"

namespace onceguard::sim {

struct client_request {
  const scene_key* key = nullptr;
  std::uint32_t print = 0;
  std::uint64_t number = 0;
  std::shared_ptr<std::stop_source> left;  ///< asks for a stop when the client has left
  std::function<void(answer_kind)> reply;
};

/// A process on a machine of its own.
class machine_process {
 public:
  machine_process(world& around, machine& node) : world_(around), node_(node) {}
  virtual ~machine_process() = default;
  machine_process(const machine_process&) = delete;
  machine_process& operator=(const machine_process&) = delete;

  [[nodiscard]] machine& node() noexcept { return node_; }
  /// Also after a crash.
  void start() {
    world_.boot(node_);
    world_.on(node_, [this] { begin(); });
    note(event_kind::restart);
  }
  void crash() {
    note(event_kind::crash);
    world_.on(node_, [this] { stop(); });
    world_.power_off(node_);
    world_.on(node_, [this] { end(); });
  }
  /// Begins to end in order; it crashes soon afterwards.
  virtual void shut_down() = 0;
  [[nodiscard]] virtual bool up() const = 0;
  /// What it has left to do, of which nothing may remain once nothing goes wrong any more.
  [[nodiscard]] virtual std::size_t unfinished() const = 0;

 protected:
  virtual void begin() = 0;
  /// Before its event loop is gone, and after it.
  virtual void stop() = 0;
  virtual void end() = 0;
  [[nodiscard]] world& around() noexcept { return world_; }

 private:
  void note(event_kind kind) {
    world_.events().add(
        {.time = world_.now(), .kind = kind, .machine = static_cast<std::uint8_t>(node_.index)});
  }

  world& world_;
  machine& node_;
};

/// What turns requests into operations.
class front_door : public machine_process {
 public:
  using machine_process::machine_process;
  void serve(const client_request& request) {
    note(event_kind::request, request, request.number);
    handle(request);
  }

 protected:
  virtual void handle(const client_request& request) = 0;
  void answer(const client_request& request, answer_kind kind, std::uint64_t body) {
    note(event_kind::answer, request, request.number, static_cast<std::int64_t>(kind), body);
    request.reply(kind);
  }
  void note(event_kind kind, const client_request& request, std::uint64_t number,
            std::int64_t value = 0, std::uint64_t body = 0) {
    around().events().add({.time = around().now(),
                           .kind = kind,
                           .machine = static_cast<std::uint8_t>(node().index),
                           .key = request.key->number,
                           .print = request.print,
                           .number = number,
                           .value = value,
                           .body = body});
  }
};

}  // namespace onceguard::sim
