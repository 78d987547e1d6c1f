#include "messaging/batch_publisher.hpp"

#include <algorithm>

namespace onceguard::messaging {

result<refusals> batch_publisher::publish(std::span<const message> batch) {
  const auto sent = try_to_publish(batch);
  if (sent) return refusals(batch.size());
  if (!refuses_message(sent.error())) return answers(batch, sent.error());
  if (batch.size() == 1) return refusals{sent.error().detail};
  // One of them was refused, or several: which?
  const auto first = std::move(progress_);
  refusals out;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    // A second sending would store it twice.
    if (i < first.size() && first[i] == publication::stored) {
      out.emplace_back();
      continue;
    }
    auto alone = try_to_publish(batch.subspan(i, 1));
    if (!alone && !refuses_message(alone.error())) return alone.error();
    out.emplace_back(alone ? std::string() : alone.error().detail);
  }
  return out;
}

bool batch_publisher::waits() const {
  return publisher_ != nullptr &&
         std::find(progress_.begin(), progress_.end(), publication::on_its_way) != progress_.end();
}

result<refusals> batch_publisher::wait_on(std::span<const message> batch) {
  const auto done = publisher_->await_answers();
  progress_ = publisher_->progress();
  if (!done && done.error().code != errc::store_full) publisher_.reset();
  if (done) return answers(batch, {errc::store_full, "the broker took no more messages"});
  return answers(batch, done.error());
}

bool batch_publisher::is_stored(std::size_t position) const {
  return position < progress_.size() && progress_[position] == publication::stored;
}

result<refusals> batch_publisher::answers(std::span<const message> batch, const error& why) const {
  refusals out(batch.size());
  bool any = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    any = any || is_stored(i);
    if (is_stored(i)) continue;
    out[i].text = why.detail;
    out[i].for_now = true;
  }
  if (!any && !batch.empty()) return why;
  return out;
}

/// An error that refuses_message: the broker can't take one of them. Any other one: the destination
/// is out of reach, full, or missing, which is nobody's fault but its own.
result<void> batch_publisher::try_to_publish(std::span<const message> batch) {
  progress_.clear();
  if (publisher_ == nullptr) {
    auto opened = open_publisher(params_);
    if (!opened) return error(errc::broker_unreachable, opened.error().detail);
    publisher_ = std::move(*opened);
  }
  return note(publisher_->publish(batch));
}

result<void> batch_publisher::note(result<void> done) {
  if (done) {
    progress_.clear();
    return done;
  }
  progress_ = publisher_->progress();
  // A refusal may have ended the connection, too. One that is full has not, and what lies there
  // would be stored a second time.
  if (done.error().code != errc::store_full) publisher_.reset();
  return done;
}

}  // namespace onceguard::messaging
