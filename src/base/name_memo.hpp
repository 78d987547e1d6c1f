// What was found out about the names of header fields that came lately.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace onceguard::base {

/// The clients of a service send the same few names all the time, and to hold each against long
/// lists costs more than to remember what came of it. A name that comes in the place of another one
/// puts that one out, so strangers can't make it grow; what they send costs as much as without.
/// Used by one thread.
template <class Found>
class name_memo {
 public:
  /// What `find(name)` gives, which must depend on the bytes of the name alone.
  template <class Find>
  [[nodiscard]] Found look(std::string_view name, const Find& find) {
    if (name.empty() || name.size() > longest) return find(name);
    auto& kept = kept_[place_of(name)];
    if (std::string_view(kept.name.data(), kept.size) == name) return kept.found;
    kept.size = 0;  // if `find` throws, nothing is remembered
    kept.found = find(name);
    std::copy(name.begin(), name.end(), kept.name.begin());
    kept.size = static_cast<std::uint8_t>(name.size());
    return kept.found;
  }

 private:
  static constexpr std::size_t longest = 46;
  static constexpr std::size_t places = 128;
  struct entry {
    std::array<char, longest> name{};
    std::uint8_t size = 0;
    Found found{};
  };
  static std::size_t place_of(std::string_view name) noexcept {
    const auto byte = [name](std::size_t at) {
      return static_cast<std::size_t>(static_cast<unsigned char>(name[at]));
    };
    const auto last = name.size() - 1;
    return (name.size() * 5 + byte(0) * 3 + byte(last / 2) * 17 + byte(last) * 37) % places;
  }

  std::array<entry, places> kept_{};
};

}  // namespace onceguard::base
