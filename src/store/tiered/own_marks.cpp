#include "store/tiered/own_marks.hpp"

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

void own_marks::hold(const claim_id& nonce, std::optional<mark> what) {
  const std::lock_guard lock(mutex_);
  if (what || held_.find(nonce) == nullptr) held_.put(nonce, std::move(what));
}

std::optional<mark> own_marks::find(const claim_id& nonce) const {
  const std::lock_guard lock(mutex_);
  const auto* found = held_.find(nonce);
  return found != nullptr ? *found : std::nullopt;
}

std::optional<mark> own_marks::take(const claim_id& nonce) {
  const std::lock_guard lock(mutex_);
  return held_.take(nonce).value_or(std::nullopt);
}

std::optional<mark> own_marks::take_mark(const claim_id& nonce) {
  const std::lock_guard lock(mutex_);
  auto out = held_.take(nonce);
  if (out) held_.put(nonce, std::nullopt);
  return std::move(out).value_or(std::nullopt);
}

void own_marks::leave(leftover what) {
  const std::lock_guard lock(mutex_);
  const auto at = what.at;
  const auto* before = left_.find(at);
  if (before != nullptr && before->nonce != what.nonce) what.nonce.reset();
  left_.put(at, std::move(what));
}

std::vector<leftover> own_marks::left(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return left_.oldest(most);
}

std::size_t own_marks::left_count() const {
  const std::lock_guard lock(mutex_);
  return left_.size() + ended_.size();
}

void own_marks::removed(const record_id& at) {
  const std::lock_guard lock(mutex_);
  left_.erase(at);
}

void own_marks::end(const record_id& id) {
  const std::lock_guard lock(mutex_);
  ended_.put(id, id);
}

std::vector<record_id> own_marks::ended(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return ended_.oldest(most);
}

void own_marks::dropped(const record_id& id) {
  const std::lock_guard lock(mutex_);
  ended_.erase(id);
}

void own_marks::settled(const std::vector<std::uint64_t>& prefixes, time_point at) {
  const std::lock_guard lock(mutex_);
  for (const auto each : prefixes) settled_.put({each}, at);
}

bool own_marks::outdated(const record_id& id, const record_id& at, time_point now) const {
  const std::lock_guard lock(mutex_);
  if (left_.find(at) != nullptr || ended_.find(id) != nullptr) return true;
  const auto* when = settled_.find({prefix_of(id)});
  return when != nullptr && now - *when < just_now;
}

}  // namespace onceguard::tiered
