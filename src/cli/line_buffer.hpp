// A line of the log while it is put together.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace onceguard::cli {

/// Bytes in memory that is kept from line to line. Every request has a line, so this is a part of
/// what a request costs: std::string would check its capacity, and end the text, with each piece.
class line_buffer {
 public:
  void clear() noexcept { used_ = 0; }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), used_}; }

  void add(std::string_view text) {
    make_room(text.size());
    std::memcpy(bytes_.data() + used_, text.data(), text.size());
    used_ += text.size();
  }
  void add(char byte) {
    make_room(1);
    bytes_[used_++] = byte;
  }
  void add_number(std::int64_t number) {
    constexpr std::size_t digits_max = 20;
    make_room(digits_max);
    auto* const begin = bytes_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + digits_max, number).ptr - begin);
  }
  /// A number below 1000 with three digits.
  void add_thousandths(std::int64_t number) {
    const std::array<char, 3> digits{static_cast<char>('0' + number / 100),
                                     static_cast<char>('0' + number / 10 % 10),
                                     static_cast<char>('0' + number % 10)};
    add({digits.data(), digits.size()});
  }
  /// In milliseconds with three decimals.
  void add_milliseconds(std::chrono::microseconds time) {
    const auto all = std::max<std::int64_t>(time.count(), 0);
    add_number(all / 1'000);
    add('.');
    add_thousandths(all % 1'000);
  }

 private:
  void make_room(std::size_t more) {
    if (more > bytes_.size() - used_) bytes_.resize(2 * (used_ + more));
  }

  std::vector<char> bytes_ = std::vector<char>(1'024);
  std::size_t used_ = 0;
};

}  // namespace onceguard::cli
