// A gateway as a process: the real engine, and the exchange of a request as the gateway has it.
#pragma once
#include <functional>
#include <memory>
#include <stop_token>

#include <boost/asio/awaitable.hpp>

#include <onceguard/engine.hpp>

#include "process_store.hpp"
#include "upstream.hpp"

namespace onceguard::sim {

struct client_request {
  const scene_key* key = nullptr;
  std::uint32_t print = 0;
  std::uint64_t number = 0;
  std::shared_ptr<std::stop_source> left;  ///< asks for a stop when the client has left
  std::function<void(answer_kind)> reply;
};

class gateway {
 public:
  gateway(world& around, machine& node, store_machines records, upstream& service,
          const scene& played);
  ~gateway();
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  [[nodiscard]] machine& node() noexcept { return node_; }
  /// Also after a crash.
  void start();
  void crash();
  /// Ends the leases that it holds first, as it does after SIGTERM.
  void shut_down();
  void serve(const client_request& request);
  [[nodiscard]] bool up() const noexcept { return process_ != nullptr; }
  /// What it has left to do, of which nothing may remain once nothing goes wrong any more.
  [[nodiscard]] std::size_t unfinished() const;

 private:
  struct process;
  boost::asio::awaitable<void> handle(client_request request);
  boost::asio::awaitable<void> run(const client_request& request, lease_handle lease);
  boost::asio::awaitable<std::optional<outcome>> ask_application(const client_request& request,
                                                                 lease_handle& lease);
  boost::asio::awaitable<std::optional<work_reply>> call_upstream(const client_request& request,
                                                                  const lease_handle& lease);
  boost::asio::awaitable<settle_terms> do_work(const client_request& request, lease_handle& lease,
                                               std::uint64_t& body);
  void answer(const client_request& request, answer_kind kind, std::uint64_t body);
  void answer(const client_request& request, const outcome& got, std::uint64_t body);
  void note(event_kind kind, const client_request& request, std::uint64_t number,
            std::int64_t value = 0, std::uint64_t body = 0);

  world& world_;
  machine& node_;
  store_machines stores_;
  upstream& upstream_;
  const scene& scene_;
  std::unique_ptr<process> process_;
};

}  // namespace onceguard::sim
