// The names of keys in Redis; all begin with the prefix. A single server has one set of names. In a
// cluster the store is divided into parts, by the first byte of a record's digest. The names of a
// part share a slot, and scripts touch one name only, so that they also work while the slot moves.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::redis {

/// How a Redis Cluster finds the slot of a name: CRC16 of the name, or of the text in its first
/// braces, modulo 16384.
inline constexpr std::size_t slot_count = 16'384;
[[nodiscard]] std::uint16_t slot_of(std::string_view name) noexcept;

/// For each of `parts` equal ranges of slots (a power of two), the smallest number whose slot is in
/// the middle of the range: names with "{number}" in them have that slot.
[[nodiscard]] std::vector<std::string> evenly_spread_tags(std::size_t parts);

class keyspace {
 public:
  /// The number of parts of a store in a cluster.
  static constexpr std::size_t cluster_parts = 256;

  keyspace(const std::string& prefix, bool cut);

  /// Whether the store is divided into parts.
  [[nodiscard]] bool cut() const noexcept { return parts_.size() > 1; }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
  [[nodiscard]] std::size_t part_of(const record_id& id) const noexcept {
    return cut() ? id.front() : 0;
  }
  /// The slot of a part, in a cluster.
  [[nodiscard]] std::uint16_t slot_of_part(std::size_t part) const { return parts_.at(part).slot; }

  /// The digest as its 32 bytes: half the memory of hex digits.
  [[nodiscard]] std::string record(const record_id& id) const;
  /// The prefix before the digest.
  [[nodiscard]] const std::string& before_record(const record_id& id) const {
    return parts_[part_of(id)].records;
  }
  /// The hash with the metadata of the store or of a part.
  [[nodiscard]] const std::string& metadata(std::size_t part) const {
    return parts_.at(part).metadata;
  }
  /// The hash whose fields are the digests of records that may need a person.
  [[nodiscard]] const std::string& attention(std::size_t part) const {
    return parts_.at(part).attention;
  }
  /// The channel that announces settled records.
  [[nodiscard]] const std::string& settled() const noexcept { return settled_; }

  /// The pattern by which SCAN finds the records.
  [[nodiscard]] const std::string& record_pattern() const noexcept { return pattern_; }
  /// The reverse of record(). Empty: the name is not that of a record.
  [[nodiscard]] std::optional<record_id> id_of(std::string_view name) const;

 private:
  struct part_names {
    std::string records;
    std::string metadata;
    std::string attention;
    std::uint16_t slot = 0;
  };

  std::vector<part_names> parts_;
  std::string settled_;
  std::string pattern_;
};

}  // namespace onceguard::redis
