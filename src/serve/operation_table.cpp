#include "serve/operation_table.hpp"

#include "base/hex.hpp"

namespace onceguard::serve {

namespace {

constexpr std::size_t operations_max = 100'000;

bool is_old(held_operation& held) {
  auto* const lease = held.handle();
  if (lease == nullptr) return false;  // it ends with its connection
  return base::boot_now() >= held.renewed_until || lease->left().count() == 0;
}

}  // namespace

lease_handle* held_operation::handle() {
  if (lease) return &*lease;
  auto* const parts = exchange ? exchange->parts() : nullptr;
  return parts != nullptr && parts->held ? &*parts->held : nullptr;
}

void held_operation::let_go() {
  if (auto* const held = handle()) held->let_go();
}

connection_number operation_table::join() {
  const std::lock_guard lock(mutex_);
  connections_.try_emplace(++last_);
  return last_;
}

void operation_table::forget(const held_operation& held) {
  if (held.claim) by_claim_.erase(base::to_hex(*held.claim));
  if (const auto owner = connections_.find(held.connection); owner != connections_.end()) {
    owner->second.erase(held.id);
  }
}

void operation_table::leave(connection_number gone) {
  std::vector<operation_ptr> left;
  {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(gone);
    if (found == connections_.end()) return;
    const auto ids = std::move(found->second);
    connections_.erase(found);
    for (const auto& id : ids) {
      const auto held = held_.find(id);
      if (held == held_.end()) continue;
      forget(*held->second);
      left.push_back(std::move(held->second));
      held_.erase(held);
    }
  }
  for (const auto& each : left) each->let_go();
}

bool operation_table::put(const operation_ptr& held) {
  const std::lock_guard lock(mutex_);
  const auto owner = connections_.find(held->connection);
  if (owner == connections_.end() || held_.size() >= operations_max) return false;
  if (!held_.emplace(held->id, held).second) return false;
  owner->second.insert(held->id);
  if (held->claim) by_claim_[base::to_hex(*held->claim)] = held->id;
  return true;
}

operation_ptr operation_table::take(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(id);
  if (found == held_.end()) return nullptr;
  auto out = std::move(found->second);
  held_.erase(found);
  forget(*out);
  return out;
}

operation_ptr operation_table::take_claimed(const claim_id& claim) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_claim_.find(base::to_hex(claim));
    if (found == by_claim_.end()) return nullptr;
    id = found->second;
  }
  return take(id);
}

bool operation_table::holds_any(connection_number owner) const {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(owner);
  return found != connections_.end() && !found->second.empty();
}

bool operation_table::has_room() const { return size() < operations_max; }

std::size_t operation_table::size() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

bool operation_table::begin_claims(std::span<const claim_id> claims) {
  const std::lock_guard lock(mutex_);
  for (const auto& each : claims) {
    if (claims_.contains(base::to_hex(each))) return false;
  }
  for (const auto& each : claims) claims_.insert(base::to_hex(each));
  return true;
}

void operation_table::end_claim(const claim_id& claim) {
  const std::lock_guard lock(mutex_);
  claims_.erase(base::to_hex(claim));
}

std::vector<operation_ptr> operation_table::take_if(bool (*chosen)(held_operation&)) {
  std::vector<operation_ptr> out;
  const std::lock_guard lock(mutex_);
  for (auto each = held_.begin(); each != held_.end();) {
    if (!chosen(*each->second)) {
      ++each;
      continue;
    }
    forget(*each->second);
    out.push_back(std::move(each->second));
    each = held_.erase(each);
  }
  return out;
}

void operation_table::let_go_of_old() {
  for (const auto& each : take_if(is_old)) each->let_go();
}

void operation_table::let_go_of_all() {
  for (const auto& each : take_if([](held_operation&) { return true; })) each->let_go();
}

}  // namespace onceguard::serve
