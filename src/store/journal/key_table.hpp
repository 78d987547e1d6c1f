// The table of all keys, in memory: where each record stands in the log, and what is asked of many
// records at once.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include <onceguard/record.hpp>

#include "core/record_id_hash.hpp"
#include "store/journal/segment.hpp"

namespace onceguard::journal {

struct key_entry {
  record_id id{};
  std::uint64_t number = 0;     ///< in the order of the first claims
  std::int64_t expires_at = 0;  ///< 0: never
  frame_location location;
  record_state state = record_state::started;
  bool unreadable = false;  ///< a call has found its record unreadable
  bool gone = false;        ///< not in the table any more
};
static_assert(sizeof(key_entry) <= 64);

/// One thread changes it, under a lock of its owner; others read it under that lock.
class key_table {
 public:
  key_table();
  key_table(const key_table&) = delete;
  key_table& operator=(const key_table&) = delete;

  [[nodiscard]] const key_entry* find(const record_id& id) const;
  [[nodiscard]] key_entry* find(const record_id& id);
  /// Adds a key with a number above all others, or changes a key, which keeps its number.
  key_entry& put(const record_id& id, std::uint64_t number);
  void remove(key_entry& entry);
  [[nodiscard]] std::size_t size() const noexcept { return by_id_.size(); }

  /// Calls `visit` with the entries of numbers above `after`, in their order, until it returns
  /// false.
  void walk(std::uint64_t after, const std::function<bool(const key_entry&)>& visit) const;

  // In no order, for what looks at all of them bit by bit.
  [[nodiscard]] std::size_t slots() const noexcept { return entries_.size(); }
  /// Null: there is none in this slot.
  [[nodiscard]] key_entry* at_slot(std::size_t position);

  /// For the recovery, which adds keys in the order of the log. To be called once at its end.
  void put_unordered(const record_id& id, const key_entry& found);
  void sort();
  /// For so many keys.
  void reserve(std::size_t keys) { by_id_.reserve(keys); }
  void clear();

 private:
  using slot = std::uint32_t;
  struct by_id {
    using is_transparent = void;
    const std::deque<key_entry>* entries;
    [[nodiscard]] std::size_t operator()(slot index) const { return (*this)((*entries)[index].id); }
    [[nodiscard]] std::size_t operator()(const record_id& id) const { return record_id_hash()(id); }
    [[nodiscard]] bool operator()(slot a, slot b) const {
      return a == b || (*entries)[a].id == (*entries)[b].id;
    }
    [[nodiscard]] bool operator()(const record_id& id, slot index) const {
      return (*entries)[index].id == id;
    }
    [[nodiscard]] bool operator()(slot index, const record_id& id) const {
      return (*entries)[index].id == id;
    }
  };

  slot add(const record_id& id);
  void drop_gone();

  std::deque<key_entry> entries_;
  boost::unordered_flat_set<slot, by_id, by_id> by_id_;
  std::deque<slot> order_;  // of the numbers; what is gone stays until drop_gone()
  std::vector<slot> free_;
  std::size_t gone_ = 0;  // in order_
};

}  // namespace onceguard::journal
