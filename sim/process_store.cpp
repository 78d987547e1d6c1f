#include "process_store.hpp"

#include <utility>

namespace onceguard::sim {

process_store::process_store(world& around, machine& node, const store_machines& stores,
                             bool replays_without_truth)
    : world_(around), monitor_(stores.monitor) {
  auto truth = std::make_unique<remote_store>(around, node, *stores.truth, stores.with_holders);
  if (stores.front == nullptr) {
    opened_ = std::move(truth);
    return;
  }
  tiered::tiered_params params;
  params.replays_without_truth = replays_without_truth;
  params.run_monitor = [this](boost::asio::io_context& loop) {
    world_.start_thread(*monitor_, loop);
  };
  auto front = [&around, &node, &host = *stores.front]() -> result<std::unique_ptr<store>> {
    return std::unique_ptr<store>(std::make_unique<remote_store>(around, node, host));
  };
  auto& metadata = *truth;
  // The loop of the monitor is that of its thread.
  world_.on(*monitor_, [&] {
    opened_ = tiered::tiered_store::open(std::move(truth), metadata, front, params).value();
  });
  world_.enter(node);
}

process_store::~process_store() {
  if (monitor_ == nullptr) return;
  world_.power_off(*monitor_);
  world_.on(*monitor_, [this] { opened_.reset(); });
}

}  // namespace onceguard::sim
