#include "messaging/batch_publisher.hpp"

namespace onceguard::messaging {

result<refusals> batch_publisher::publish(std::span<const message> batch) {
  auto sent = try_to_publish(batch);
  if (sent) return refusals(batch.size());
  if (!refuses_message(sent.error())) return sent.error();
  if (batch.size() == 1) return refusals{sent.error().detail};
  // One of them was refused, or several: which?
  refusals out;
  for (const auto& one : batch) {
    auto alone = try_to_publish(std::span(&one, 1));
    if (!alone && !refuses_message(alone.error())) return alone.error();
    out.push_back(alone ? std::string() : alone.error().detail);
  }
  return out;
}

/// An error that refuses_message: the broker can't take one of them. Any other one: the destination
/// is out of reach, full, or missing, which is nobody's fault but its own.
result<void> batch_publisher::try_to_publish(std::span<const message> batch) {
  if (publisher_ == nullptr) {
    auto opened = open_publisher(params_);
    if (!opened) return error(errc::broker_unreachable, opened.error().detail);
    publisher_ = std::move(*opened);
  }
  auto done = publisher_->publish(batch);
  if (!done) publisher_.reset();  // a refusal may have ended the connection, too
  return done;
}

}  // namespace onceguard::messaging
