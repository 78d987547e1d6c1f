#include "store/journal/key_table.hpp"

#include <algorithm>

namespace onceguard::journal {

key_table::key_table() : by_id_(0, by_id{&entries_}, by_id{&entries_}) {}

const key_entry* key_table::find(const record_id& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &entries_[*found];
}

key_entry* key_table::find(const record_id& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &entries_[*found];
}

key_table::slot key_table::add(const record_id& id) {
  slot out = 0;
  if (free_.empty()) {
    out = static_cast<slot>(entries_.size());
    entries_.emplace_back();
  } else {
    out = free_.back();
    free_.pop_back();
    entries_[out] = key_entry();
  }
  entries_[out].id = id;
  by_id_.insert(out);
  return out;
}

key_entry& key_table::put(const record_id& id, std::uint64_t number) {
  if (auto* found = find(id)) return *found;
  const auto added = add(id);
  entries_[added].number = number;
  order_.push_back(added);
  return entries_[added];
}

void key_table::remove(key_entry& entry) {
  by_id_.erase(by_id_.find(entry.id));
  entry.gone = true;
  // Its slot is taken again only once nothing in `order_` leads to it.
  if (++gone_ > order_.size() / 8 + 1'024) drop_gone();
}

void key_table::drop_gone() {
  const auto gone = [this](slot index) {
    if (!entries_[index].gone) return false;
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
      [this](std::uint64_t number, slot index) { return number < entries_[index].number; });
  for (; it != order_.end(); ++it) {
    if (!entries_[*it].gone && !visit(entries_[*it])) return;
  }
}

key_entry* key_table::at_slot(std::size_t position) {
  auto& entry = entries_[position];
  const bool used = !entry.gone && entry.number != 0;
  return used ? &entry : nullptr;
}

void key_table::put_unordered(const record_id& id, const key_entry& found) {
  const auto next = static_cast<slot>(entries_.size());
  entries_.push_back(found);
  entries_.back().id = id;
  const auto [position, added] = by_id_.insert(next);
  if (added) {
    order_.push_back(next);
    return;
  }
  entries_.pop_back();
  entries_[*position] = found;
}

void key_table::sort() {
  const auto before = [this](slot a, slot b) { return entries_[a].number < entries_[b].number; };
  if (!std::is_sorted(order_.begin(), order_.end(), before)) {
    std::sort(order_.begin(), order_.end(), before);
  }
}

void key_table::clear() {
  by_id_.clear();
  order_.clear();
  free_.clear();
  entries_.clear();
  gone_ = 0;
}

}  // namespace onceguard::journal
