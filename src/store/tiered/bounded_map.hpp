// A map that forgets its oldest entries when it is full.
#pragma once
#include <cstddef>
#include <cstring>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace onceguard::tiered {

/// For digests and claim ids: their bytes are random already.
struct random_hash {
  template <class Bytes>
  [[nodiscard]] std::size_t operator()(const Bytes& subject) const noexcept {
    std::size_t out = 0;
    static_assert(sizeof subject >= sizeof out);
    std::memcpy(&out, &subject, sizeof out);
    return out;
  }
};

template <class Key, class Value>
class bounded_map {
 public:
  explicit bounded_map(std::size_t most) : most_(most) {}

  void put(const Key& key, Value value) {
    erase(key);
    if (by_key_.size() >= most_) {
      by_key_.erase(in_order_.front().first);
      in_order_.pop_front();
    }
    in_order_.emplace_back(key, std::move(value));
    by_key_.emplace(key, std::prev(in_order_.end()));
  }
  [[nodiscard]] const Value* find(const Key& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->second;
  }
  std::optional<Value> take(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    std::optional<Value> out(std::move(found->second->second));
    in_order_.erase(found->second);
    by_key_.erase(found);
    return out;
  }
  void erase(const Key& key) { take(key); }

  [[nodiscard]] std::size_t size() const noexcept { return by_key_.size(); }
  [[nodiscard]] std::vector<Value> oldest(std::size_t most) const {
    std::vector<Value> out;
    for (const auto& [key, value] : in_order_) {
      if (out.size() == most) break;
      out.push_back(value);
    }
    return out;
  }

 private:
  using entries = std::list<std::pair<Key, Value>>;

  const std::size_t most_;
  entries in_order_;
  std::unordered_map<Key, typename entries::iterator, random_hash> by_key_;
};

}  // namespace onceguard::tiered
