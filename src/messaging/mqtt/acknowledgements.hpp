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
  [[nodiscard]] std::uint64_t add(std::uint16_t packet_id) {
    if (!packet_ids_.insert(packet_id).second) return 0;
    waiting_.push_back({packet_id, false});
    return first_ + waiting_.size() - 1;
  }
  /// The message is settled: the packet ids whose turn has come, in their order. The number must be
  /// one that add returned, and not settled yet.
  [[nodiscard]] std::vector<std::uint16_t> settle(std::uint64_t number) {
    waiting_.at(static_cast<std::size_t>(number - first_)).settled = true;
    std::vector<std::uint16_t> out;
    while (!waiting_.empty() && waiting_.front().settled) {
      out.push_back(waiting_.front().packet_id);
      packet_ids_.erase(waiting_.front().packet_id);
      waiting_.pop_front();
      ++first_;
    }
    return out;
  }
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
