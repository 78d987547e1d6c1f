// The items of the table, as JSON writes them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::dynamodb {

/// Names of the attributes and of the index. docs/dynamodb.md describes them.
namespace attribute {
inline constexpr const char* id = "id";              ///< the key
inline constexpr const char* lease = "lease";        ///< text_of(lease_mark)
inline constexpr const char* record = "record";      ///< the payload
inline constexpr const char* first = "first";        ///< of the first claim, for the index
inline constexpr const char* open = "open";          ///< of an unsettled record: its index
inline constexpr const char* observed = "observed";  ///< for so long nothing was written, in ms
inline constexpr const char* piece = "piece";        ///< of an answer
inline constexpr const char* ttl = "ttl";            ///< in seconds since 1970
}  // namespace attribute
inline constexpr const char* index_name = "open";
/// The key of the store's own item.
inline constexpr std::string_view metadata_id = "onceguard";

/// An item of a record, or of a piece, as it was read. Attributes that are missing or of another
/// type are empty.
struct item {
  std::string id;
  std::optional<std::string> lease;
  std::optional<std::string> record;
  std::optional<std::string> piece;
  std::string open;
  std::uint64_t first = 0;
  std::uint64_t observed = 0;
};

/// The key of a record's item.
[[nodiscard]] std::string key_of(const record_id& id);
/// The reverse; empty: it is the key of no record.
[[nodiscard]] std::optional<record_id> record_of(std::string_view key);
/// The key of a piece, from 1 on: "RECORD#NAME#NUMBER".
[[nodiscard]] std::string piece_key(const record_id& id, std::uint64_t name, std::uint64_t number);

/// Where the index lists an unsettled record: `running` while somebody may still have to learn that
/// its lease is over, then `waiting` for a person. Each is divided, so that no partition of the
/// index takes all writes.
inline constexpr std::size_t index_parts = 16;
[[nodiscard]] std::string running_part(std::size_t part);
[[nodiscard]] std::string waiting_part(std::size_t part);
[[nodiscard]] std::size_t part_of(const record_id& id) noexcept;

/// A page of a scan, a query or a batch.
struct item_page {
  std::vector<item> items;
  std::string last_key;                 ///< of a scan: the id to go on after; empty: that was all
  std::string last_key_text;            ///< of a query: the whole key, as JSON
  std::vector<std::string> unserved{};  ///< of a batch: the ids that are to be asked for again
};

/// The store's own item.
struct metadata {
  std::string identity;
  std::uint64_t version = 0;
  std::uint64_t generation = 0;
  std::uint64_t forgotten = 0;
};

/// What answers say. errc::store_unreachable: they are not understood.
/// @{
/// Of GetItem, and of a write whose condition did not hold: the item; none: there is none.
[[nodiscard]] result<std::optional<item>> read_item(const std::string& answer);
[[nodiscard]] result<item_page> read_page(const std::string& answer);
[[nodiscard]] result<item_page> read_batch(const std::string& answer, const std::string& table);
/// Of GetItem or UpdateItem; none: the table has no such item.
[[nodiscard]] result<std::optional<metadata>> read_metadata(const std::string& answer);
/// @}

}  // namespace onceguard::dynamodb
