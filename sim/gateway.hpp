// A gateway as a process: the real engine, and the exchange of a request as the gateway has it.
#pragma once
#include <memory>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "front_door.hpp"
#include "process_store.hpp"
#include "upstream.hpp"

namespace onceguard::sim {

class gateway final : public front_door {
 public:
  gateway(world& around, machine& node, store_machines records, upstream& service,
          const scene& played);
  ~gateway() override;

  /// Ends the leases that it holds first, as it does after SIGTERM.
  void shut_down() override;
  [[nodiscard]] bool up() const noexcept override { return process_ != nullptr; }
  [[nodiscard]] std::size_t unfinished() const override;

 private:
  struct process;
  void begin() override;
  void stop() override;
  void end() override;
  void handle(const client_request& request) override;
  boost::asio::awaitable<void> exchange(client_request request);
  boost::asio::awaitable<void> run(const client_request& request, lease_handle lease);
  boost::asio::awaitable<std::optional<outcome>> ask_application(const client_request& request,
                                                                 lease_handle& lease);
  boost::asio::awaitable<std::optional<work_reply>> call_upstream(const client_request& request,
                                                                  const lease_handle& lease);
  boost::asio::awaitable<settle_terms> do_work(const client_request& request, lease_handle& lease,
                                               std::uint64_t& body);
  void conclude(const client_request& request, const outcome& got, std::uint64_t body);

  store_machines stores_;
  upstream& upstream_;
  const scene& scene_;
  std::unique_ptr<process> process_;
};

}  // namespace onceguard::sim
