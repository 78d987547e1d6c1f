// Fixed lists of names and words, looked for in the names of header fields.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::base {

/// Entries in lower case, with '-' between their words; they match as `same_name` does. Each field
/// of each request is held against several lists and is in none of them, mostly by its first
/// letter: where no entry begins with a letter, the list is passed in one step.
template <std::size_t N>
class name_list {
 public:
  template <class... Texts>
  consteval explicit name_list(const Texts&... entries) : entries_{entries...} {
    for (const auto entry : entries_) {
      begins_ |= bit_of(entry.front());
      ends_ |= bit_of(entry.back());
    }
  }

  /// Whether an entry is the whole name.
  [[nodiscard]] constexpr bool holds(std::string_view name) const noexcept {
    return any_of(name, [name](std::string_view entry) { return same_name(entry, name); });
  }

  /// Whether the name begins with an entry.
  [[nodiscard]] constexpr bool begin(std::string_view name) const noexcept {
    return any_of(name, [name](std::string_view entry) {
      return same_name(entry, name.substr(0, entry.size()));
    });
  }

  /// Whether the name ends with an entry.
  [[nodiscard]] constexpr bool end(std::string_view name) const noexcept {
    if (name.empty() || (ends_ & bit_of(name.back())) == 0) return false;
    return std::any_of(entries_.begin(), entries_.end(), [name](std::string_view entry) {
      return entry.size() <= name.size() &&
             same_name(entry, name.substr(name.size() - entry.size()));
    });
  }

  /// Whether an entry stands anywhere in the name.
  [[nodiscard]] constexpr bool stand_in(std::string_view name) const noexcept {
    for (; !name.empty(); name.remove_prefix(1)) {
      if (begin(name)) return true;
    }
    return false;
  }

  /// Whether an entry is a whole word of the name: the words have '-' or '_' between them.
  [[nodiscard]] constexpr bool are_word_of(std::string_view name) const noexcept {
    for (std::size_t begin = 0; begin < name.size();) {
      auto end = begin;
      while (end < name.size() && name[end] != '-' && name[end] != '_') ++end;
      if (holds(name.substr(begin, end - begin))) return true;
      begin = end + 1;
    }
    return false;
  }

 private:
  /// Of a letter, in upper or lower case. Other characters may share the bit of a letter: the bit
  /// only rules out.
  static constexpr std::uint32_t bit_of(char c) noexcept {
    return std::uint32_t{1} << (static_cast<unsigned char>(c) & 31U);
  }
  template <class Matches>
  [[nodiscard]] constexpr bool any_of(std::string_view name, const Matches& matches) const {
    if (name.empty()) return false;
    const auto bit = bit_of(name.front());
    return (begins_ & bit) != 0 &&
           std::any_of(entries_.begin(), entries_.end(), [&](std::string_view entry) {
             return bit_of(entry.front()) == bit && matches(entry);
           });
  }

  std::array<std::string_view, N> entries_;
  std::uint32_t begins_ = 0;
  std::uint32_t ends_ = 0;
};

template <class... Texts>
name_list(const Texts&...) -> name_list<sizeof...(Texts)>;

}  // namespace onceguard::base
