#include "messaging/mqtt/acknowledgements.hpp"

namespace onceguard::messaging::mqtt {

std::uint64_t acknowledgements::add(std::uint16_t packet_id) {
  if (!packet_ids_.insert(packet_id).second) return 0;
  waiting_.push_back({packet_id, false});
  return first_ + waiting_.size() - 1;
}

std::vector<std::uint16_t> acknowledgements::settle(std::uint64_t number) {
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

}  // namespace onceguard::messaging::mqtt
