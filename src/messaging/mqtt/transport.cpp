#include "messaging/mqtt/transport.hpp"

namespace onceguard::messaging::mqtt {

void transport::close() noexcept {
  socket_.close();
  outgoing_.clear();
  written_ = 0;
}

result<std::size_t> transport::write() {
  std::size_t all = 0;
  while (pending()) {
    const auto count = socket_.write(std::string_view(outgoing_).substr(written_));
    if (!count) return count.error();
    if (*count == 0) break;
    written_ += *count;
    all += *count;
  }
  if (written_ > outgoing_.size() / 2) {
    outgoing_.erase(0, written_);
    written_ = 0;
  }
  return all;
}

}  // namespace onceguard::messaging::mqtt
