// Knows whether a client is on its way into a new generation of its group. A commit that librdkafka
// sends behind its JoinGroup is answered when the generation it names is over; then
// librdkafka 2.0.2 forgets the new one, its SyncGroup is refused, and all partitions are lost.
#pragma once
#include <atomic>
#include <cstdint>
#include <librdkafka/rdkafka.h>

#include <onceguard/record.hpp>

namespace onceguard::messaging::kafka {

class join_watch {
 public:
  /// `hold`: the URL's. Twice as long after a JoinGroup it is believed to have come to nothing.
  explicit join_watch(milliseconds hold) : hold_(hold) {}
  join_watch(const join_watch&) = delete;
  join_watch& operator=(const join_watch&) = delete;
  ~join_watch() = default;

  /// Must outlive the client that is made of it.
  void install(rd_kafka_conf_t* conf);
  [[nodiscard]] bool joins() const noexcept;
  /// The group refused a commit, as a rebalance is under way: a heartbeat will tell librdkafka.
  void note_rebalance() noexcept;
  /// A rebalance came to its end.
  void joined() noexcept { until_.store(0); }

  /// Of librdkafka's threads.
  void note_request(std::int16_t request) noexcept;
  void note_response(std::int16_t request, rd_kafka_resp_err_t code) noexcept;

 private:
  void wait_for(milliseconds time) noexcept;

  const milliseconds hold_;
  std::atomic<std::int64_t> until_{0};  ///< in milliseconds of the boot clock
};

}  // namespace onceguard::messaging::kafka
