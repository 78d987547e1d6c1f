// `onceguard serve` as a process: its real connections, decisions and operations over the real
// engine. What src/serve/server.cpp does on its threads is written for the simulation after it.
#pragma once
#include <memory>

#include "front_door.hpp"
#include "process_store.hpp"
#include "wire.hpp"

namespace onceguard::sim {

class decision_service final : public machine_process, public socket_host {
 public:
  decision_service(world& around, machine& node, store_machines records, const scene& played);
  ~decision_service() override;

  /// It drains, as after SIGTERM and after an upgrade.
  void shut_down() override;
  [[nodiscard]] bool up() const noexcept override { return process_ != nullptr; }
  [[nodiscard]] std::size_t unfinished() const override;
  [[nodiscard]] bool draining() const;

  [[nodiscard]] machine& host() override { return node(); }
  [[nodiscard]] bool listens() const override { return up(); }
  void accept(int socket) override;

 private:
  struct process;
  void begin() override;
  void stop() override;
  void end() override;

  store_machines stores_;
  const scene& scene_;
  std::unique_ptr<process> process_;
};

}  // namespace onceguard::sim
