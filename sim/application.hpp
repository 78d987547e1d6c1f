// An application as a process: it asks a decision service by its client, and runs the work itself.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include "decision_service.hpp"
#include "front_door.hpp"
#include "service_client.hpp"
#include "upstream.hpp"

namespace onceguard::sim {

class application final : public front_door {
 public:
  using services = std::vector<std::unique_ptr<decision_service>>;
  application(world& around, machine& node, services& all, upstream& service, const scene& played);
  ~application() override;

  void shut_down() override {}
  [[nodiscard]] bool up() const override { return process_ != nullptr; }
  [[nodiscard]] std::size_t unfinished() const override;

 private:
  struct process;
  void begin() override;
  void stop() override;
  void end() override;
  void handle(const client_request& request) override;
  boost::asio::awaitable<void> exchange(client_request request);
  /// The work, and its end: `kind` is that of the settle.
  boost::asio::awaitable<answer_kind> work(const client_request& request, const service_run& run,
                                           std::string& kind, std::uint64_t& body);
  void conclude(const client_request& request, answer_kind ended, std::uint64_t body,
                const settle_answer& settled);
  [[nodiscard]] socket_host& address();

  services& services_;
  upstream& upstream_;
  const scene& scene_;
  std::unique_ptr<process> process_;
};

}  // namespace onceguard::sim
