#include "store/tiered/marker_table.hpp"

namespace onceguard::tiered {
namespace {

// By then the one who settled it has told the accelerator, or its marker was left behind.
constexpr milliseconds just_now{1'000};

std::uint64_t prefix_of(const record_id& id) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i) out = out << 8 | id[i];
  return out;
}

}  // namespace

void marker_table::hold(const claim_id& holder, std::optional<marker> reply) {
  const std::lock_guard lock(mutex_);
  if (reply || held_.find(holder) == nullptr) held_.put(holder, std::move(reply));
}

std::optional<marker> marker_table::find(const claim_id& holder) const {
  const std::lock_guard lock(mutex_);
  const auto* found = held_.find(holder);
  return found != nullptr ? *found : std::nullopt;
}

std::optional<marker> marker_table::take(const claim_id& holder) {
  const std::lock_guard lock(mutex_);
  return held_.take(holder).value_or(std::nullopt);
}

std::optional<marker> marker_table::take_mark(const claim_id& holder) {
  const std::lock_guard lock(mutex_);
  auto out = held_.take(holder);
  if (out) held_.put(holder, std::nullopt);
  return std::move(out).value_or(std::nullopt);
}

void marker_table::leave(leftover leftover) {
  const std::lock_guard lock(mutex_);
  const auto position = leftover.id;
  const auto* before = left_.find(position);
  if (before != nullptr && before->claim_id != leftover.claim_id) leftover.claim_id.reset();
  left_.put(position, std::move(leftover));
}

std::vector<leftover> marker_table::left(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return left_.oldest(most);
}

std::size_t marker_table::left_count() const {
  const std::lock_guard lock(mutex_);
  return left_.size() + ended_.size();
}

void marker_table::removed(const record_id& id) {
  const std::lock_guard lock(mutex_);
  left_.erase(id);
}

void marker_table::end(const record_id& id) {
  const std::lock_guard lock(mutex_);
  ended_.put(id, id);
}

std::vector<record_id> marker_table::ended(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return ended_.oldest(most);
}

void marker_table::dropped(const record_id& id) {
  const std::lock_guard lock(mutex_);
  ended_.erase(id);
}

void marker_table::settled(const std::vector<std::uint64_t>& prefixes, time_point time) {
  const std::lock_guard lock(mutex_);
  for (const auto each : prefixes) settled_.put({each}, time);
}

bool marker_table::outdated(const record_id& id, const record_id& slot_id, time_point now) const {
  const std::lock_guard lock(mutex_);
  if (left_.find(slot_id) != nullptr || ended_.find(id) != nullptr) return true;
  const auto* when = settled_.find({prefix_of(id)});
  return when != nullptr && now - *when < just_now;
}

}  // namespace onceguard::tiered
