#include "store/journal/key_table.hpp"

#include <algorithm>

namespace onceguard::journal {

const key_entry* key_table::find(const record_id& id) const {
  const auto found = slot_of(id);
  return found ? &entry_at(*found) : nullptr;
}

key_entry* key_table::find(const record_id& id) {
  const auto found = slot_of(id);
  return found ? &entry_at(*found) : nullptr;
}

key_table::slot key_table::append() {
  if (slots_ == pieces_.size() * piece_size) {
    pieces_.push_back(std::make_unique<key_entry[]>(piece_size));
  }
  return static_cast<slot>(slots_++);
}

key_table::slot key_table::add(const record_id& id) {
  slot out = 0;
  if (free_.empty()) {
    out = append();
  } else {
    out = free_.back();
    free_.pop_back();
  }
  entry_at(out) = key_entry();
  entry_at(out).id = id;
  index_.add(slot_index::mark_of(id), out);
  return out;
}

key_entry& key_table::put(const record_id& id, std::uint64_t number) {
  if (auto* found = find(id)) return *found;
  const auto added = add(id);
  entry_at(added).number = number;
  order_.push_back(added);
  return entry_at(added);
}

void key_table::remove(key_entry& entry) {
  index_.remove(slot_index::mark_of(entry.id), *slot_of(entry.id));
  entry.gone = true;
  // Its slot is taken again only once nothing in `order_` leads to it.
  if (++gone_ > order_.size() / 8 + 1'024) drop_gone();
}

void key_table::drop_gone() {
  const auto gone = [this](slot index) {
    if (!entry_at(index).gone) return false;
    free_.push_back(index);
    return true;
  };
  order_.erase(std::remove_if(order_.begin(), order_.end(), gone), order_.end());
  gone_ = 0;
}

void key_table::walk(std::uint64_t after,
                     const std::function<bool(const key_entry&)>& visit) const {
  auto it = std::upper_bound(
      order_.begin(), order_.end(), after,
      [this](std::uint64_t number, slot index) { return number < entry_at(index).number; });
  for (; it != order_.end(); ++it) {
    if (!entry_at(*it).gone && !visit(entry_at(*it))) return;
  }
}

key_entry* key_table::at_slot(std::size_t position) {
  auto& entry = entry_at(position);
  const bool used = !entry.gone && entry.number != 0;
  return used ? &entry : nullptr;
}

void key_table::put_unordered(const key_entry& found) {
  const auto known = slot_of(found.id);
  const auto position = known ? *known : append();
  auto& entry = entry_at(position);
  if (known) {
    sorted_ = sorted_ && entry.number == found.number;
  } else {
    index_.add(slot_index::mark_of(found.id), position);
    sorted_ = sorted_ && (order_.empty() || entry_at(order_.back()).number < found.number);
    order_.push_back(position);
  }
  entry = found;
}

void key_table::put_unordered(std::span<const key_entry> found) {
  constexpr std::size_t ahead = 32;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto later = i + ahead;
    if (later < found.size()) index_.prefetch(slot_index::mark_of(found[later].id));
    put_unordered(found[i]);
  }
}

void key_table::sort() {
  if (sorted_) return;
  std::sort(order_.begin(), order_.end(),
            [this](slot a, slot b) { return entry_at(a).number < entry_at(b).number; });
  sorted_ = true;
}

void key_table::clear() {
  index_.clear();
  order_.clear();
  free_.clear();
  pieces_.clear();
  slots_ = 0;
  gone_ = 0;
  sorted_ = true;
}

}  // namespace onceguard::journal
