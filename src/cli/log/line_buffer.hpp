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

namespace onceguard::cli::log {

/// Bytes in memory that is kept from line to line. Every request has a line, so this is a part of
/// what a request costs: std::string would check its capacity, and end the text, with each piece,
/// and a call of memcpy takes longer than a copy of a short text.
class line_buffer {
 public:
  /// Printable ASCII without a quote and a backslash. Most texts are, and need no escapes.
  [[nodiscard]] static bool is_plain(std::string_view text) noexcept {
    word bytes = each_byte('x');
    if (text.size() < word_size) {
      for (const char c : text) bytes = bytes << 8 | static_cast<unsigned char>(c);
      return not_plain(bytes) == 0;
    }
    word found = 0;
    for (std::size_t position = 0; position < text.size() - word_size; position += word_size) {
      std::memcpy(&bytes, text.data() + position, word_size);
      found |= not_plain(bytes);
    }
    std::memcpy(&bytes, text.data() + text.size() - word_size, word_size);
    return (found | not_plain(bytes)) == 0;
  }

  void clear() noexcept { used_ = 0; }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), used_}; }

  void add(std::string_view text) {
    make_room(text.size());
    copy(text);
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
  using word = std::uint64_t;
  static constexpr std::size_t word_size = sizeof(word);

  void make_room(std::size_t more) {
    if (more > bytes_.size() - used_) bytes_.resize(2 * (used_ + more));
  }
  void copy(std::string_view text) noexcept {
    char* const target = bytes_.data() + used_;
    used_ += text.size();
    if (text.size() > 2 * word_size) {
      std::memcpy(target, text.data(), text.size());
    } else if (text.size() >= word_size) {  // two words, which may overlap
      const auto last = text.size() - word_size;
      std::memcpy(target, text.data(), word_size);
      std::memcpy(target + last, text.data() + last, word_size);
    } else {
      for (std::size_t i = 0; i < text.size(); ++i) target[i] = text[i];
    }
  }

  static constexpr word each_byte(unsigned char byte) noexcept { return ~word{0} / 0xff * byte; }
  /// Not 0: one of the bytes is 0, or needs more than 7 bits.
  static constexpr word zero_or_high(word bytes) noexcept {
    return (bytes - each_byte(1)) & each_byte(0x80);
  }
  /// Eight bytes at once. Not 0: one of them is not plain. A byte below the space borrows from its
  /// neighbour, and is itself found by that.
  static constexpr word not_plain(word bytes) noexcept {
    const word high = bytes & each_byte(0x80);
    const word control = (bytes - each_byte(' ')) & each_byte(0x80);
    return high | control | zero_or_high(bytes ^ each_byte(0x7f)) |
           zero_or_high(bytes ^ each_byte('"')) | zero_or_high(bytes ^ each_byte('\\'));
  }
  std::vector<char> bytes_ = std::vector<char>(1'024);
  std::size_t used_ = 0;
};

}  // namespace onceguard::cli::log
