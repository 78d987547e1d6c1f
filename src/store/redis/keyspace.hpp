// The names in Redis: all begin with the prefix. One server has one set of them. In a cluster the
// store is cut into parts, by the first byte of a record's digest; the names of a part share a
// slot, and a script touches one name only, so that it also works while the slot moves.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::redis {

class keyspace {
 public:
  /// Of the parts of a store in a cluster.
  static constexpr std::size_t cluster_parts = 256;

  keyspace(const std::string& prefix, bool cut);

  /// Is it cut into parts?
  [[nodiscard]] bool cut() const noexcept { return parts_.size() > 1; }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
  [[nodiscard]] std::size_t part_of(const record_id& id) const noexcept {
    return cut() ? id.front() : 0;
  }
  /// In a cluster.
  [[nodiscard]] std::uint16_t slot_of_part(std::size_t part) const { return parts_.at(part).slot; }

  /// The digest as its 32 bytes: half the memory of hex digits.
  [[nodiscard]] std::string record(const record_id& id) const;
  /// What stands before the digest.
  [[nodiscard]] const std::string& before_record(const record_id& id) const {
    return parts_[part_of(id)].records;
  }
  /// The hash that says what the store is, or a part of it.
  [[nodiscard]] const std::string& metadata(std::size_t part) const {
    return parts_.at(part).metadata;
  }
  /// What a script is given behind the record or the books: the counter of tokens and the
  /// generation. In a cluster nothing: tokens come from the clock, generations are in the books.
  [[nodiscard]] std::span<const std::string> counters() const noexcept { return counters_; }
  /// What it is given to tell the books as well.
  [[nodiscard]] std::span<const std::string> counters_and_metadata(std::size_t part) const;
  /// Grows with what was written. On one server.
  [[nodiscard]] const std::string& generation() const noexcept { return counters_.at(1); }
  /// Written so that WAIT has something to wait for. On one server.
  [[nodiscard]] const std::string& touch() const noexcept { return touch_; }
  /// The channel on which is told which records have ended.
  [[nodiscard]] const std::string& settled() const noexcept { return settled_; }

  /// What SCAN finds the records by.
  [[nodiscard]] const std::string& record_pattern() const noexcept { return pattern_; }
  /// The reverse of `record`; none: it is the name of something else.
  [[nodiscard]] std::optional<record_id> id_of(std::string_view name) const;

 private:
  struct part_names {
    std::string records;
    std::string metadata;
    std::vector<std::string> counters_and_metadata;
    std::uint16_t slot = 0;
  };

  std::vector<part_names> parts_;
  std::vector<std::string> counters_;
  std::string touch_;
  std::string settled_;
  std::string pattern_;
};

}  // namespace onceguard::redis
