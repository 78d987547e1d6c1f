#include "store/journal/slot_index.hpp"

#include <utility>

namespace onceguard::journal {
namespace {

constexpr unsigned least_bits = 4;

/// Three quarters: beyond, the runs of cells that are taken become long.
constexpr std::size_t most_in(unsigned bits) noexcept { return (std::size_t{3} << bits) / 4; }

}  // namespace

void slot_index::put(cell value) noexcept {
  auto position = home_of(mark_in(value));
  while (cells_[position] != 0) position = next(position);
  cells_[position] = value;
}

void slot_index::grow(unsigned bits) {
  const auto former = std::exchange(cells_, std::vector<cell>(std::size_t{1} << bits));
  bits_ = bits;
  for (const auto each : former) {
    if (each != 0) put(each);
  }
}

void slot_index::reserve(std::size_t slots) {
  auto bits = cells_.empty() ? least_bits : bits_;
  while (most_in(bits) < slots) ++bits;
  if (bits != bits_) grow(bits);
}

void slot_index::add(mark its_mark, slot added) {
  reserve(size_ + 1);
  put(cell{its_mark} << half | (cell{added} + 1));
  ++size_;
}

void slot_index::remove(mark its_mark, slot removed) {
  auto hole = home_of(its_mark);
  while (slot_in(cells_[hole]) != removed) hole = next(hole);
  // What follows without a gap moves up, unless it would come before its home.
  for (auto position = next(hole); cells_[position] != 0; position = next(position)) {
    const auto distance = [this](std::size_t begin, std::size_t end) {
      return (end - begin) & (cells_.size() - 1);
    };
    const auto home = home_of(mark_in(cells_[position]));
    if (distance(home, position) < distance(hole, position)) continue;
    cells_[hole] = cells_[position];
    hole = position;
  }
  cells_[hole] = 0;
  --size_;
}

void slot_index::clear() noexcept {
  cells_ = {};
  bits_ = 0;
  size_ = 0;
}

}  // namespace onceguard::journal
