// What holds of every canonical form, on random values and random texts of them, with
// nlohmann-json as the second opinion on what a text says.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include <onceguard/fingerprint.hpp>

#include "json/canonical.hpp"
#include "json/scalars.hpp"

namespace onceguard {
namespace {

using nlohmann::json;

/// UTF-16 code units of valid UTF-8, the slow way.
std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      point = point << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    }
    i += length;
    if (point >= 0x10000) {
      units += static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
      point = 0xDC00 + ((point - 0x10000) & 0x3FF);
    }
    units += static_cast<char16_t>(point);
  }
  return units;
}

/// Random JSON values and texts of them, from one seed.
class json_source {
 public:
  explicit json_source(std::uint64_t seed) : random_(seed) {}

  std::string string() {
    static const std::vector<std::string> pieces{"a",
                                                 "b",
                                                 "A",
                                                 "\"",
                                                 "\\",
                                                 "/",
                                                 "\n",
                                                 "\x1F",
                                                 " ",
                                                 "\x7F",
                                                 "\xC3\xA4",
                                                 "\xE2\x82\xAC",
                                                 "\xEE\x80\x80",
                                                 "\xEF\xBF\xBF",
                                                 "\xF0\x90\x80\x80",
                                                 "\xF0\x9F\x98\x80",
                                                 "~",
                                                 "0"};
    std::string out;
    for (auto n = below(5); n > 0; --n) out += pieces[below(pieces.size())];
    return out;
  }

  json value(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(below(1u << 30)) - (1 << 29);
      case 3:
        return static_cast<double>(below(1'000'000)) / 1000.0;
      case 4:
        return std::bit_cast<double>(0x3FF0000000000000 | below(1ull << 52)) - 1.0;
      case 5:
        return string();
      case 6: {
        auto array = json::array();
        for (auto n = below(5); n > 0; --n) array.push_back(value(depth - 1));
        return array;
      }
      default: {
        auto object = json::object();
        for (auto n = below(5); n > 0; --n) object[string()] = value(depth - 1);
        return object;
      }
    }
  }

  /// A text of the value with random spacing, order of members and escapes.
  std::string text(const json& value) {
    if (value.is_array()) {
      std::string out = "[";
      for (const auto& element : value) out += space() + text(element) + space() + ',';
      return closed(std::move(out), ']');
    }
    if (value.is_object()) {
      std::vector<std::string> members;
      for (const auto& [name, member] : value.items()) {
        members.push_back(space() + text(json(name)) + space() + ':' + space() + text(member));
      }
      std::shuffle(members.begin(), members.end(), random_);
      std::string out = "{";
      for (const auto& member : members) out += member + ',';
      return closed(std::move(out), '}');
    }
    return value.dump(-1, ' ', below(2) == 0);
  }

 private:
  std::uint64_t below(std::uint64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_);
  }
  std::string space() {
    static constexpr std::string_view kinds = " \t\r\n";
    return std::string(below(2), kinds[below(4)]);
  }
  static std::string closed(std::string out, char close) {
    if (out.back() == ',') out.pop_back();
    return out + close;
  }

  std::mt19937_64 random_;
};

RC_GTEST_PROP(canonical_json, every_text_of_a_value_has_the_same_form, (std::uint64_t seed)) {
  json_source source(seed);
  const auto value = source.value(4);
  const auto form = canonical(source.text(value));
  RC_ASSERT(form == canonical(source.text(value)));
  RC_ASSERT(form == canonical(form));
  RC_ASSERT(json::parse(form) == value);
}

RC_GTEST_PROP(canonical_json, values_that_differ_have_forms_that_differ, (std::uint64_t seed)) {
  json_source source(seed);
  const auto a = source.value(2);
  const auto b = source.value(2);
  RC_ASSERT((a == b) == (canonical(source.text(a)) == canonical(source.text(b))));
}

RC_GTEST_PROP(canonical_json, orders_as_utf_16_does, (std::uint64_t seed)) {
  json_source source(seed);
  const auto a = source.string();
  const auto b = source.string();
  RC_ASSERT(utf16_less(a, b) == (utf16(a) < utf16(b)));
}

RC_GTEST_PROP(canonical_json, a_written_double_reads_back_as_itself, (std::uint64_t bits)) {
  const auto value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value) && value != 0);
  const auto text = written(value);
  double again = 0;
  std::from_chars(text.data(), text.data() + text.size(), again);
  RC_ASSERT(std::bit_cast<std::uint64_t>(again) == bits);
  if (std::fabs(value) <= 9007199254740992.0 || std::fabs(value) >= 1e21) {
    RC_ASSERT(canonical(text) == text);
  } else {
    RC_ASSERT(!canonical_json(text));
  }
}

RC_GTEST_PROP(canonical_json, a_damaged_text_is_accepted_only_if_it_is_json,
              (std::uint64_t seed, std::uint8_t byte)) {
  json_source source(seed);
  auto text = source.text(source.value(3));
  text[seed % text.size()] = static_cast<char>(byte);
  const auto made = canonical_json(text);
  if (made) {
    RC_ASSERT(json::parse(text) == json::parse(*made));
  } else {
    RC_ASSERT(made.error().detail.starts_with("byte "));
  }
}

}  // namespace
}  // namespace onceguard
