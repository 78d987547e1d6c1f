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
  /// What `compute(name)` gives, which must depend on the bytes of the name alone.
  template <class Compute>
  [[nodiscard]] Found find(std::string_view name, const Compute& compute) {
    if (name.empty() || name.size() > longest) return compute(name);
    auto& kept = kept_[slot_of(name)];
    if (std::string_view(kept.name.data(), kept.size) == name) return kept.found;
    kept.size = 0;  // if `compute` throws, nothing is remembered
    kept.found = compute(name);
    std::copy(name.begin(), name.end(), kept.name.begin());
    kept.size = static_cast<std::uint8_t>(name.size());
    return kept.found;
  }

 private:
  static constexpr std::size_t longest = 46;
  static constexpr std::size_t slots = 128;
  struct entry {
    std::array<char, longest> name{};
    std::uint8_t size = 0;
    Found found{};
  };
  static std::size_t slot_of(std::string_view name) noexcept {
    const auto byte = [name](std::size_t index) {
      return static_cast<std::size_t>(static_cast<unsigned char>(name[index]));
    };
    const auto last = name.size() - 1;
    return (name.size() * 5 + byte(0) * 3 + byte(last / 2) * 17 + byte(last) * 37) % slots;
  }

  std::array<entry, slots> kept_{};
};

}  // namespace onceguard::base
