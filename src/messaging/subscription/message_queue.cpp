#include "messaging/subscription/message_queue.hpp"

#include <algorithm>

#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

using counts = std::unordered_map<std::string, std::size_t>;

void count_down(counts& all, const std::string& name) {
  const auto found = all.find(name);
  if (found != all.end() && --found->second == 0) all.erase(found);
}

std::uint32_t tries_of(const message_queue::held& one) {
  return one.excused + one.blamed + one.errors;
}

}  // namespace

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
  counts taken;
  std::deque<std::uint64_t> rest;
  for (const auto tag : order_of_arrival_) {
    auto& one = all_.at(tag);
    const std::string_view key = one.message.received.order_key;
    const bool free = is_free(one) && !blocked.contains(key);
    // Where a failure stops its key, the next one must know what became of this one.
    const bool follows =
        order_ == order_rule::stop && !key.empty() && taken.contains(std::string(key));
    const bool fits = out.empty() || (!one.alone && !out.front()->alone);
    if (out.size() < most && fits && free && !follows && may_run(one, now)) {
      blame(one);
      begin(one);
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
  for (const auto* const one : out) ++running_ids_[one->id];
  return out;
}

void message_queue::begin(held& one) {
  one.running = true;
  if (one.retry_at) --waiting_;
  one.retry_at.reset();
  one.excused_at.reset();
}

void message_queue::blame(held& one) const {
  if (!one.excused_at || successes_ <= *one.excused_at) return;
  --one.excused;
  ++one.blamed;
}

bool message_queue::is_free(const held& one) const {
  const auto& key = one.message.received.order_key;
  const bool twin_runs = !one.id.empty() && running_ids_.contains(one.id);
  return !twin_runs && (key.empty() || !running_keys_.contains(key));
}

const message_queue::held* message_queue::least_tried(time_point now) const {
  const held* out = nullptr;
  std::unordered_set<std::string_view> blocked;
  for (const auto tag : order_of_arrival_) {
    const auto& one = all_.at(tag);
    const std::string_view key = one.message.received.order_key;
    const bool runs = is_free(one) && !blocked.contains(key) && may_run(one, now);
    if (runs && (out == nullptr || tries_of(one) < tries_of(*out))) out = &one;
    const bool passes = order_ == order_rule::skip && one.retry_at.has_value();
    if (!key.empty() && !passes) blocked.insert(key);
  }
  return out;
}

std::vector<const message_queue::held*> message_queue::next_probe(time_point now) {
  const auto* const found = least_tried(now);
  if (found == nullptr) return {};
  auto& one = all_.at(found->message.tag);
  begin(one);
  std::erase(order_of_arrival_, one.message.tag);
  const auto& key = one.message.received.order_key;
  if (!key.empty()) ++running_keys_[key];
  ++running_ids_[one.id];
  return {&one};
}

bool message_queue::has_untried(time_point now) const {
  const auto* const found = least_tried(now);
  return found != nullptr && tries_of(*found) == 0;
}

void message_queue::end(const std::string& order_key, const std::string& id) {
  count_down(running_keys_, order_key);
  count_down(running_ids_, id);
}

std::optional<message_queue::held> message_queue::take(std::uint64_t tag) {
  const auto found = all_.find(tag);
  if (found == all_.end()) return std::nullopt;
  auto out = std::move(found->second);
  all_.erase(found);
  if (out.running) {
    end(out.message.received.order_key, out.id);
  } else {
    std::erase(order_of_arrival_, tag);
    if (out.retry_at) --waiting_;
  }
  return out;
}

void message_queue::retry(std::uint64_t tag, time_point due, bool alone) {
  if (auto taken = take(tag)) put_back(std::move(*taken), due, alone);
}

void message_queue::retry_after_error(std::uint64_t tag, time_point now, milliseconds pause,
                                      bool alone) {
  auto taken = take(tag);
  if (!taken) return;
  // The pause is bounded by retry_max anyway; without this the product might overflow.
  constexpr std::uint32_t doublings_max = 20;
  const auto doublings = std::min(taken->errors, doublings_max);
  ++taken->errors;
  put_back(std::move(*taken), now + std::min(pause * (std::int64_t{1} << doublings), retry_max),
           alone);
}

void message_queue::excuse(std::uint64_t tag, time_point due, bool blameless) {
  auto taken = take(tag);
  if (!taken) return;
  ++taken->excused;
  if (!blameless) taken->excused_at = successes_;
  put_back(std::move(*taken), due, false);
}

void message_queue::put_back(held one, time_point due, bool alone) {
  const auto tag = one.message.tag;
  one.running = false;
  one.retry_at = due;
  one.alone = one.alone || alone;
  ++waiting_;
  if (keeps_order(one)) {
    order_of_arrival_.push_front(tag);  // and so before the later ones of its key
  } else {
    order_of_arrival_.push_back(tag);  // a new message is not to wait for one that fails
  }
  all_.insert_or_assign(tag, std::move(one));
}

// Keys and ids of what runs stay taken, until end(): what comes again waits for it.
void message_queue::clear() {
  all_.clear();
  order_of_arrival_.clear();
  waiting_ = 0;
}

std::optional<message_queue::time_point> message_queue::first_retry() const {
  std::optional<time_point> out;
  for (const auto& [tag, one] : all_) {
    if (one.retry_at && (!out || *one.retry_at < *out)) out = one.retry_at;
  }
  return out;
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
