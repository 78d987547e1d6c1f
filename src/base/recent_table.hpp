// Remembers the latest values in memory of a fixed size.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace onceguard::base {

/// Values by a hash of 64 bits, which must be spread evenly: two things of one hash are one. Eight
/// values share a group; the newest of a full group takes the room of its oldest. So what was
/// stored may be forgotten at any time. `Value` is small and trivially copied. Thread-safe.
template <class Value>
class recent_table {
 public:
  static constexpr std::size_t group_size = 8;

  /// Room for about `entries` values.
  explicit recent_table(std::size_t entries)
      : groups_(std::max<std::size_t>(1, entries / group_size)) {}
  recent_table(const recent_table&) = delete;
  recent_table& operator=(const recent_table&) = delete;

  [[nodiscard]] std::size_t entries() const noexcept { return groups_.size() * group_size; }

  [[nodiscard]] std::optional<Value> find(std::uint64_t hash) const {
    const std::lock_guard lock(mutex_of(hash));
    const auto& group = groups_[hash % groups_.size()];
    for (const auto& e : group) {
      if (e.hash == marked(hash)) return e.value;
    }
    return std::nullopt;
  }

  /// Calls `change(Value&, bool found)` while no other thread sees the group, and returns its
  /// result. A value that was not found is a new one, which stays. `change` must be short.
  template <class Change>
  auto update(std::uint64_t hash, Change change) {
    const std::lock_guard lock(mutex_of(hash));
    auto& group = groups_[hash % groups_.size()];
    for (auto& e : group) {
      if (e.hash == marked(hash)) return change(e.value, true);
    }
    std::move_backward(group.begin(), group.end() - 1, group.end());  // newest first
    group.front() = {marked(hash), Value{}};
    return change(group.front().value, false);
  }

  /// Calls `change(Value&)` as update() does, if the value is there. `change` must be short.
  template <class Change>
  void update_known(std::uint64_t hash, Change change) {
    const std::lock_guard lock(mutex_of(hash));
    for (auto& e : groups_[hash % groups_.size()]) {
      if (e.hash == marked(hash)) return change(e.value);
    }
  }

  void erase(std::uint64_t hash) {
    const std::lock_guard lock(mutex_of(hash));
    auto& group = groups_[hash % groups_.size()];
    const auto end = std::remove_if(group.begin(), group.end(),
                                    [&](const entry& e) { return e.hash == marked(hash); });
    std::fill(end, group.end(), entry{});
  }

 private:
  struct entry {
    std::uint64_t hash = 0;  // 0: none
    Value value{};
  };
  using entry_group = std::array<entry, group_size>;

  [[nodiscard]] static std::uint64_t marked(std::uint64_t hash) noexcept { return hash | 1; }
  [[nodiscard]] std::mutex& mutex_of(std::uint64_t hash) const {
    return mutexes_[hash % groups_.size() % mutexes_.size()];
  }

  std::vector<entry_group> groups_;
  mutable std::array<std::mutex, 64> mutexes_;
};

}  // namespace onceguard::base
