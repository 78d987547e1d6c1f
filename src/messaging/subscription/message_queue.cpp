#include "messaging/subscription/message_queue.hpp"

#include <algorithm>

namespace onceguard::messaging {

void message_queue::add(delivery message, std::string id, time_point extend_at) {
  const auto tag = message.tag;
  order_of_arrival_.push_back(tag);
  all_.insert_or_assign(
      tag, held{.message = std::move(message), .id = std::move(id), .extend_at = extend_at});
}

bool message_queue::keeps_order(const held& one) const {
  return order_ == order_rule::stop && !one.message.received.order_key.empty();
}

bool message_queue::keeps_order(std::uint64_t tag) const {
  const auto found = all_.find(tag);
  return found != all_.end() && keeps_order(found->second);
}

bool message_queue::may_run(const held& one, time_point now) const {
  return !one.retry_at || *one.retry_at <= now;
}

std::vector<const message_queue::held*> message_queue::next_batch(std::size_t most,
                                                                  time_point now) {
  std::vector<const held*> out;
  std::unordered_set<std::string_view> blocked;  // keys whose later messages must not run now
  std::unordered_map<std::string, std::size_t> taken;
  std::deque<std::uint64_t> rest;
  for (const auto tag : order_of_arrival_) {
    auto& one = all_.at(tag);
    const std::string_view key = one.message.received.order_key;
    const bool free =
        key.empty() || (!running_keys_.contains(std::string(key)) && !blocked.contains(key));
    // Where a failure stops its key, the next one must know what became of this one.
    const bool follows =
        order_ == order_rule::stop && !key.empty() && taken.contains(std::string(key));
    const bool fits = out.empty() || (!one.alone && !out.front()->alone);
    if (out.size() < most && fits && free && !follows && may_run(one, now)) {
      one.running = true;
      if (one.retry_at) {
        one.retry_at.reset();
        --waiting_;
      }
      if (!key.empty()) ++taken[std::string(key)];
      out.push_back(&one);
      continue;
    }
    rest.push_back(tag);
    const bool passes = order_ == order_rule::skip && one.retry_at.has_value();
    if (!key.empty() && !passes) blocked.insert(key);
  }
  order_of_arrival_ = std::move(rest);
  for (const auto& [key, count] : taken) running_keys_[key] += count;
  return out;
}

std::optional<message_queue::held> message_queue::take(std::uint64_t tag) {
  const auto found = all_.find(tag);
  if (found == all_.end()) return std::nullopt;
  auto out = std::move(found->second);
  all_.erase(found);
  if (out.running) {
    const auto key = running_keys_.find(out.message.received.order_key);
    if (key != running_keys_.end() && --key->second == 0) running_keys_.erase(key);
  } else {
    std::erase(order_of_arrival_, tag);
    if (out.retry_at) --waiting_;
  }
  return out;
}

void message_queue::retry(std::uint64_t tag, time_point due, bool alone) {
  auto taken = take(tag);
  if (!taken) return;
  taken->running = false;
  taken->retry_at = due;
  taken->alone = taken->alone || alone;
  ++waiting_;
  if (keeps_order(*taken)) {
    order_of_arrival_.push_front(tag);  // and so before the later ones of its key
  } else {
    order_of_arrival_.push_back(tag);  // a new message is not to wait for one that fails
  }
  all_.insert_or_assign(tag, std::move(*taken));
}

void message_queue::clear() {
  all_.clear();
  order_of_arrival_.clear();
  running_keys_.clear();
  waiting_ = 0;
}

std::optional<message_queue::time_point> message_queue::first_retry() const {
  std::optional<time_point> out;
  for (const auto& [tag, one] : all_) {
    if (one.retry_at && (!out || *one.retry_at < *out)) out = one.retry_at;
  }
  return out;
}

std::optional<std::uint64_t> message_queue::last_retry() const {
  const held* last = nullptr;
  for (const auto& [tag, one] : all_) {
    if (!one.retry_at || keeps_order(one)) continue;
    if (last == nullptr || *one.retry_at > *last->retry_at) last = &one;
  }
  if (last == nullptr) return std::nullopt;
  return last->message.tag;
}

std::vector<std::uint64_t> message_queue::to_extend(time_point now, time_point next) {
  std::vector<std::uint64_t> out;
  for (auto& [tag, one] : all_) {
    if (one.extend_at > now) continue;
    one.extend_at = next;
    out.push_back(tag);
  }
  return out;
}

std::vector<std::uint64_t> message_queue::idle() const {
  return {order_of_arrival_.begin(), order_of_arrival_.end()};
}

}  // namespace onceguard::messaging
