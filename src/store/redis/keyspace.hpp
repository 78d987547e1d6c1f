// The names in Redis: all begin with the prefix. Of one server for now; of several, each part of
// the names that shares a server has counters of its own.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "base/hash.hpp"

namespace onceguard::redis {

class keyspace {
 public:
  explicit keyspace(std::string prefix)
      : records_(prefix + "r:"),
        tokens_(prefix + "tokens"),
        generation_(prefix + "generation"),
        store_(prefix + "store"),
        touch_(prefix + "touch") {}

  /// The digest as its 32 bytes: half the memory of hex digits.
  [[nodiscard]] std::string record(const record_id& id) const {
    std::string out;
    out.reserve(records_.size() + id.size());
    return out.append(records_).append(base::as_chars(id));
  }
  [[nodiscard]] const std::string& tokens() const noexcept { return tokens_; }
  [[nodiscard]] const std::string& generation() const noexcept { return generation_; }
  [[nodiscard]] const std::string& store() const noexcept { return store_; }
  /// Written so that WAIT has something to wait for.
  [[nodiscard]] const std::string& touch() const noexcept { return touch_; }

  /// What SCAN finds the records by.
  [[nodiscard]] std::string record_pattern() const {
    std::string out;
    for (const char c : records_) {
      if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
    return out + "*";
  }
  /// The reverse of `record`; none: it is the name of something else.
  [[nodiscard]] std::optional<record_id> id_of(std::string_view name) const {
    record_id out{};
    if (name.size() != records_.size() + out.size() || !name.starts_with(records_)) return {};
    name.remove_prefix(records_.size());
    std::copy(name.begin(), name.end(), out.begin());
    return out;
  }

 private:
  const std::string records_;
  const std::string tokens_;
  const std::string generation_;
  const std::string store_;
  const std::string touch_;
};

}  // namespace onceguard::redis
