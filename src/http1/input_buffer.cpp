#include "http1/input_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "http1/require.hpp"

namespace onceguard::http1 {

input_buffer::block input_buffer::make_block(std::size_t capacity) {
  return {std::make_unique_for_overwrite<char[]>(capacity), capacity};
}

std::span<char> input_buffer::prepare(std::size_t least) {
  if (begin_ == end_) begin_ = end_ = floor_;
  if (receiving_.capacity - end_ < least) make_room(least);
  return {receiving_.bytes.get() + end_, receiving_.capacity - end_};
}

void input_buffer::commit(std::size_t count) {
  require(count <= receiving_.capacity - end_, "commit() of more than prepare() gave");
  end_ += count;
}

void input_buffer::make_room(std::size_t least) {
  const std::size_t kept = end_ - begin_;
  if (begin_ > floor_ && receiving_.capacity - floor_ - kept >= least) {
    std::memmove(receiving_.bytes.get() + floor_, receiving_.bytes.get() + begin_, kept);
    begin_ = floor_;
  } else {
    // Doubling keeps the copying linear. After a pin nothing has been doubled yet.
    const std::size_t doubled = floor_ == 0 ? receiving_.capacity * 2 : 0;
    const std::size_t wanted = std::max({first_capacity, kept + least, doubled});
    block fresh;
    if (floor_ != 0 && other_.capacity >= kept + least) fresh = std::move(other_);
    if (!fresh.bytes) fresh = make_block(wanted);
    if (kept != 0) std::memcpy(fresh.bytes.get(), receiving_.bytes.get() + begin_, kept);
    if (floor_ != 0) other_ = std::move(receiving_);
    receiving_ = std::move(fresh);
    floor_ = begin_ = 0;
  }
  end_ = begin_ + kept;
}

}  // namespace onceguard::http1
