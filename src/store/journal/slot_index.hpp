// Where the table of keys has each key: an open-addressing hash table of slots.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::journal {

/// A cell has a part of the key's hash beside the slot. So a key that is not there, a growth and a
/// removal look at no key: of a million keys each look is a miss of all caches.
class slot_index {
 public:
  using slot = std::uint32_t;
  using mark = std::uint32_t;  ///< of a key: the part of the hash

  [[nodiscard]] static mark mark_of(const record_id& id) noexcept {
    // The id is a SHA-256 but in tests, which count.
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t begin = 0;
    std::memcpy(&begin, id.data(), sizeof begin);
    return static_cast<mark>(begin * odd >> 32);
  }

  /// The first slot with this mark of which `is_it` is true.
  template <class Predicate>
  [[nodiscard]] std::optional<slot> find(mark sought, Predicate is_it) const {
    if (cells_.empty()) return std::nullopt;
    for (auto position = home_of(sought); cells_[position] != 0; position = next(position)) {
      if (mark_in(cells_[position]) == sought && is_it(slot_in(cells_[position])))
        return slot_in(cells_[position]);
    }
    return std::nullopt;
  }
  /// `find` or `add` of this mark will follow soon.
  void prefetch(mark sought) const noexcept {
    if (!cells_.empty()) __builtin_prefetch(&cells_[home_of(sought)], 1);
  }
  /// The slot must not be there.
  void add(mark its_mark, slot added);
  /// The slot must be there with this mark.
  void remove(mark its_mark, slot removed);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// For so many slots.
  void reserve(std::size_t slots);
  void clear() noexcept;

 private:
  using cell = std::uint64_t;  // the mark, and one more than the slot; 0: nothing
  static constexpr unsigned half = 32;

  [[nodiscard]] static mark mark_in(cell value) noexcept {
    return static_cast<mark>(value >> half);
  }
  [[nodiscard]] static slot slot_in(cell value) noexcept { return static_cast<slot>(value) - 1; }
  /// The highest bits: a growth goes through both tables from the front to the back.
  [[nodiscard]] std::size_t home_of(mark sought) const noexcept {
    return static_cast<std::size_t>(std::uint64_t{sought} << bits_ >> half);
  }
  [[nodiscard]] std::size_t next(std::size_t position) const noexcept {
    return (position + 1) & (cells_.size() - 1);
  }
  void put(cell value) noexcept;
  void grow(unsigned bits);

  std::vector<cell> cells_;
  unsigned bits_ = 0;  // there are 2 to the power of it
  std::size_t size_ = 0;
};

}  // namespace onceguard::journal
