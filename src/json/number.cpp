#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "json/scalars.hpp"

namespace onceguard {
namespace {

constexpr double two_to_53 = 9007199254740992.0;
constexpr std::string_view two_to_53_digits = "9007199254740992";
/// From this magnitude on, ECMAScript writes an exponent.
constexpr double written_with_exponent = 1e21;

/// The digits of a number without leading and trailing zeros, up to 17 digits.
class significand {
 public:
  void add(char digit) noexcept {
    if (digit == '0') {
      if (size_ > 0) ++zeros_;
      return;
    }
    if (size_ + zeros_ >= digits_.size()) {
      too_long_ = true;
      return;
    }
    for (; zeros_ > 0; --zeros_) digits_[size_++] = '0';
    digits_[size_++] = digit;
  }

  [[nodiscard]] bool too_long() const noexcept { return too_long_; }
  [[nodiscard]] std::string_view digits() const noexcept { return {digits_.data(), size_}; }

 private:
  std::array<char, 17> digits_{};
  std::size_t size_ = 0;
  std::size_t zeros_ = 0;  // zeros after the last nonzero digit; added once another nonzero digit
                           // follows
  bool too_long_ = false;
};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Reads one or more digits. `digits`, if not null, collects them.
bool read_digits(json_cursor& cursor, significand* digits) noexcept {
  if (!is_digit(cursor.peek())) return cursor.fail("a digit is missing");
  for (; is_digit(cursor.peek()); ++cursor.position) {
    if (digits != nullptr) digits->add(cursor.peek());
  }
  return true;
}

/// Reads `-? int frac? exp?`. Clears `plain` if there is a fraction or an exponent.
bool scan(json_cursor& cursor, significand& digits, bool& plain) noexcept {
  if (cursor.peek() == '-') ++cursor.position;
  if (cursor.peek() == '0') {
    ++cursor.position;
    if (is_digit(cursor.peek())) return cursor.fail("a number begins with a needless zero");
  } else if (!read_digits(cursor, &digits)) {
    return false;
  }
  if (cursor.peek() == '.') {
    plain = false;
    ++cursor.position;
    if (!read_digits(cursor, &digits)) return false;
  }
  if (cursor.peek() == 'e' || cursor.peek() == 'E') {
    plain = false;
    ++cursor.position;
    if (cursor.peek() == '+' || cursor.peek() == '-') ++cursor.position;
    if (!read_digits(cursor, nullptr)) return false;
  }
  return true;
}

/// Whether the number is an integer beyond 2^53: rounding may give several such integers the same
/// double.
bool beyond_exact_integers(double magnitude, const significand& digits, bool plain) noexcept {
  if (magnitude < two_to_53) return false;
  // 9007199254740993 also rounds to 2^53, so only 2^53 itself is allowed.
  if (magnitude == two_to_53) return digits.digits() != two_to_53_digits;
  return plain || magnitude < written_with_exponent;
}

}  // namespace

bool read_json_number(json_cursor& cursor, double& value) noexcept {
  const std::size_t begin = cursor.position;
  significand digits;
  bool plain = true;
  if (!scan(cursor, digits, plain)) return false;
  const auto fail_at_begin = [&](const char* description) {
    cursor.position = begin;
    return cursor.fail(description);
  };
  if (digits.too_long()) return fail_at_begin("a number of more than 17 significant digits");
  if (digits.digits().empty()) {
    value = 0;
    return true;
  }
  const char* const text = cursor.text.data();
  if (std::from_chars(text + begin, text + cursor.position, value).ec != std::errc{}) {
    return fail_at_begin("a number outside the range of a double");
  }
  if (beyond_exact_integers(std::fabs(value), digits, plain)) {
    return fail_at_begin("an integer beyond 2^53");
  }
  return true;
}

bool read_json_number_text(json_cursor& cursor, std::string& out) {
  const std::size_t begin = cursor.position;
  significand digits;
  bool plain = true;
  if (!scan(cursor, digits, plain)) return false;
  out.append(cursor.text, begin, cursor.position - begin);
  return true;
}

void append_json_number(std::string& out, double value) {
  std::array<char, 32> buffer{};
  char* const first = buffer.data();
  char* const last = first + buffer.size();
  if (std::fabs(value) <= two_to_53 && std::trunc(value) == value) {
    const auto written = std::to_chars(first, last, static_cast<std::int64_t>(value));
    out.append(first, written.ptr);
    return;
  }
  if (value < 0) out += '-';
  // The shortest digits that read back as the same double, in the form "d.ddde-07" or "de+30".
  const auto written = std::to_chars(first, last, std::fabs(value), std::chars_format::scientific);
  char* const mark = std::find(first, written.ptr, 'e');
  int exponent = 0;
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, written.ptr, exponent);
  if (first[1] == '.')
    std::swap(first[0], first[1]);  // move the point in front: now the digits
                                    // are contiguous
  const std::string_view digits(first[0] == '.' ? first + 1 : first, mark);

  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // the number of digits before the decimal point
  const auto zeros = [&](int n) { out.append(static_cast<std::size_t>(n), '0'); };
  if (count <= point && point <= 21) {
    out.append(digits);
    zeros(point - count);
  } else if (0 < point && point <= 21) {
    const auto whole = static_cast<std::size_t>(point);
    out.append(digits, 0, whole).append(1, '.').append(digits, whole);
  } else if (-6 < point && point <= 0) {
    out.append("0.");
    zeros(-point);
    out.append(digits);
  } else {
    out += digits.front();
    if (count > 1) out.append(1, '.').append(digits, 1);
    out.append(exponent < 0 ? "e-" : "e+").append(std::to_string(std::abs(exponent)));
  }
}

}  // namespace onceguard
