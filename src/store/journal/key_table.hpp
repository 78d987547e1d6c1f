// The table of all keys, in memory: where each record stands in the log, and what is asked of many
// records at once.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <onceguard/record.hpp>

#include "store/journal/segment.hpp"
#include "store/journal/slot_index.hpp"

namespace onceguard::journal {

struct key_entry {
  record_id id{};
  std::uint64_t number = 0;     ///< in the order of the first claims
  std::int64_t expires_at = 0;  ///< 0: never
  frame_location location;
  record_state state = record_state::started;
  bool unreadable = false;  ///< the last call that read its record could not
  bool read_again = false;  ///< it could be read since a sweep could not
  bool gone = false;        ///< not in the table any more
};
static_assert(sizeof(key_entry) <= 64);

/// One thread changes it, under a lock of its owner; others read it under that lock.
class key_table {
 public:
  key_table() = default;
  key_table(const key_table&) = delete;
  key_table& operator=(const key_table&) = delete;

  [[nodiscard]] const key_entry* find(const record_id& id) const;
  [[nodiscard]] key_entry* find(const record_id& id);
  /// Adds a key with a number above all others, or changes a key, which keeps its number.
  key_entry& put(const record_id& id, std::uint64_t number);
  void remove(key_entry& entry);
  [[nodiscard]] std::size_t size() const noexcept { return index_.size(); }

  /// Calls `visit` with the entries of numbers above `after`, in their order, until it returns
  /// false.
  void walk(std::uint64_t after, const std::function<bool(const key_entry&)>& visit) const;

  // In no order, for what looks at all of them bit by bit.
  [[nodiscard]] std::size_t slots() const noexcept { return slots_; }
  /// Null: there is none in this slot.
  [[nodiscard]] key_entry* at_slot(std::size_t position);

  /// For the recovery, which adds keys in the order of the log, or changes them. `sort` is to be
  /// called once at the end.
  void put_unordered(const key_entry& found);
  /// All of them: the cells are fetched ahead.
  void put_unordered(std::span<const key_entry> found);
  void sort();
  /// For so many keys.
  void reserve(std::size_t keys) { index_.reserve(keys); }
  void clear();

 private:
  using slot = slot_index::slot;
  static constexpr std::size_t piece_size = 4'096;  // entries that are allocated at once

  [[nodiscard]] key_entry& entry_at(std::size_t position) const noexcept {
    return pieces_[position / piece_size][position % piece_size];
  }
  [[nodiscard]] std::optional<slot> slot_of(const record_id& id) const {
    return index_.find(slot_index::mark_of(id),
                       [&](slot position) { return entry_at(position).id == id; });
  }
  slot append();
  slot add(const record_id& id);
  void drop_gone();

  std::vector<std::unique_ptr<key_entry[]>> pieces_;
  std::size_t slots_ = 0;
  slot_index index_;
  std::deque<slot> order_;  // of the numbers; what is gone stays until drop_gone()
  std::vector<slot> free_;
  std::size_t gone_ = 0;  // in order_
  bool sorted_ = true;    // order_ is
};

}  // namespace onceguard::journal
