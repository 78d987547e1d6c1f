// The order of acknowledgements. A client sends them in the order in which the messages arrived
// (MQTT 5.0, section 4.6, [MQTT-4.6.0-2]), whatever the order in which the messages were settled.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

namespace onceguard::messaging::mqtt {

class acknowledgements {
 public:
  /// A message arrived: its number among all. Zero: the packet id is that of a message which has
  /// not been acknowledged yet, and so of a server that breaks the protocol.
  [[nodiscard]] std::uint64_t add(std::uint16_t packet_id);
  /// The message is settled: the packet ids whose turn has come, in their order. The number must be
  /// one that add returned, and not settled yet.
  [[nodiscard]] std::vector<std::uint16_t> settle(std::uint64_t number);
  /// How many messages are not acknowledged.
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size(); }

 private:
  struct arrival {
    std::uint16_t packet_id = 0;
    bool settled = false;
  };

  std::deque<arrival> waiting_;
  std::uint64_t first_ = 1;  ///< the number of the front of waiting_
  std::unordered_set<std::uint16_t> packet_ids_;
};

}  // namespace onceguard::messaging::mqtt
