#include "store/tiered/marker_table.hpp"

namespace onceguard::tiered {

namespace {

lease lease_of(const marker& lease_marker, const claim_id& holder) {
  lease out;
  out.token = lease_marker.token;
  out.claim_id = holder;
  return out;
}

}  // namespace

settlement settle_marker(const marker& lease_marker, const claim_id& holder, settle_terms terms) {
  return settle_lease(lease_marker.id, lease_of(lease_marker, holder), lease_marker.about,
                      std::move(terms));
}

extension extend_marker(const marker& lease_marker, const claim_id& holder, milliseconds length) {
  return extend_lease(lease_marker.id, lease_of(lease_marker, holder), length);
}

settlement release_marker(const record_id& slot_id, const subject_ptr& about,
                          const claim_id& holder) {
  settle_terms terms;
  terms.kind = settle_kind::release;
  return settle_marker({slot_id, about}, holder, std::move(terms));
}
namespace {

// By then the process that settled the record has updated the accelerator, or left its marker.
constexpr milliseconds just_now{1'000};
// Who ends a lease elsewhere, as an application in its own transaction, may leave its marker.
constexpr milliseconds confirmed_for{1'000};

std::uint64_t prefix_of(const record_id& id) noexcept {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof out; ++i) out = out << 8 | id[i];
  return out;
}

/// Erases `gone`, unless its place in `list` was taken by a later entry.
template <class List, class Entry>
void erase_entry(List& list, const Entry& gone) {
  const auto* found = list.find(gone.id);
  if (found != nullptr && found->entry == gone.entry) list.erase(gone.id);
}

}  // namespace

void marker_table::add_lease(const claim_id& holder, std::optional<marker> reply) {
  const std::lock_guard lock(mutex_);
  if (reply || leases_.find(holder) == nullptr) leases_.put(holder, std::move(reply));
}

bool marker_table::has_lease(const claim_id& holder) const {
  const std::lock_guard lock(mutex_);
  return leases_.find(holder) != nullptr;
}

std::optional<marker> marker_table::marker_of(const claim_id& holder) const {
  const std::lock_guard lock(mutex_);
  const auto* found = leases_.find(holder);
  return found != nullptr ? *found : std::nullopt;
}

std::optional<marker> marker_table::end_lease(const claim_id& holder) {
  const std::lock_guard lock(mutex_);
  return leases_.take(holder).value_or(std::nullopt);
}

std::optional<marker> marker_table::take_marker(const claim_id& holder) {
  const std::lock_guard lock(mutex_);
  auto out = leases_.take(holder);
  if (out) leases_.put(holder, std::nullopt);
  return std::move(out).value_or(std::nullopt);
}

void marker_table::remove_later(leftover leftover) {
  const std::lock_guard lock(mutex_);
  const auto position = leftover.id;
  const auto* before = leftovers_.find(position);
  if (before != nullptr && before->claim_id != leftover.claim_id) leftover.claim_id.reset();
  leftover.entry = ++entries_;
  leftovers_.put(position, std::move(leftover));
}

std::vector<leftover> marker_table::leftovers(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return leftovers_.oldest(most);
}

std::size_t marker_table::removals_waiting() const {
  const std::lock_guard lock(mutex_);
  return leftovers_.size() + records_to_clear_.size();
}

void marker_table::leftover_removed(const leftover& removed) {
  const std::lock_guard lock(mutex_);
  erase_entry(leftovers_, removed);
}

void marker_table::clear_later(const record_id& id) {
  const std::lock_guard lock(mutex_);
  records_to_clear_.put(id, {id, ++entries_});
}

std::vector<ended_record> marker_table::records_to_clear(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  return records_to_clear_.oldest(most);
}

void marker_table::record_cleared(const ended_record& cleared) {
  const std::lock_guard lock(mutex_);
  erase_entry(records_to_clear_, cleared);
}

void marker_table::note_settled(const std::vector<std::uint64_t>& prefixes, time_point time) {
  const std::lock_guard lock(mutex_);
  for (const auto each : prefixes) settled_lately_.put({each}, time);
}

bool marker_table::is_to_be_confirmed(const record_id& id, time_point now) {
  const std::lock_guard lock(mutex_);
  const auto* when = confirmed_.find(id);
  if (when != nullptr && now - *when < confirmed_for) return false;
  const bool first = when == nullptr;
  confirmed_.put(id, now);
  return !first;
}

bool marker_table::may_be_outdated(const record_id& id, const record_id& slot_id,
                                   time_point now) const {
  const std::lock_guard lock(mutex_);
  if (leftovers_.find(slot_id) != nullptr || records_to_clear_.find(id) != nullptr) return true;
  const auto* when = settled_lately_.find({prefix_of(id)});
  return when != nullptr && now - *when < just_now;
}

}  // namespace onceguard::tiered
