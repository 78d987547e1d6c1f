// The bodies of requests.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/dynamodb/client/request.hpp"
#include "store/dynamodb/wire/item.hpp"

namespace onceguard::dynamodb {

/// An item of a record to write.
struct record_item {
  record_id id{};
  std::string lease;
  std::string payload;
  std::uint64_t first = 0;
  std::string open;                 ///< empty: it is settled
  std::optional<std::int64_t> ttl;  ///< in seconds since 1970
};

/// Sets the item if there is none, or if it is still `replaced`. An item whose condition does not
/// hold comes back with the answer.
[[nodiscard]] request put_record(const std::string& table, const record_item& written,
                                 const std::optional<item>& replaced);
/// The same, and counts a completed record that operators have released, in one transaction.
/// `token`: random; the service carries out one transaction of a token.
[[nodiscard]] request put_and_count(const std::string& table, const record_item& written,
                                    const std::optional<item>& replaced, const std::string& token);
[[nodiscard]] request put_piece(const std::string& table, const std::string& key,
                                std::string_view bytes, const std::optional<std::int64_t>& ttl);
/// Strongly consistent, as all reads but queries of the index.
[[nodiscard]] request get_item(const std::string& table, std::string_view key);
/// Up to a hundred.
[[nodiscard]] request get_items(const std::string& table, const std::vector<std::string>& keys);

/// Moves an item in the index, if it is still the one of this lease: `open` empty: it stays where
/// it is. `observed`: for so long nothing was written, in milliseconds.
[[nodiscard]] request note_item(const std::string& table, const item& seen, const std::string& open,
                                const std::optional<std::uint64_t>& observed);

/// `after`: the last id of the page before; empty: from the begin. Without pieces.
[[nodiscard]] request scan_page(const std::string& table, const std::string& after);
/// The ids in a part of the index, by their first claims, of those that were not before `earliest`.
/// `after`: item_page::last_key_text of the page before.
[[nodiscard]] request query_part(const std::string& table, const std::string& part,
                                 std::uint64_t earliest, const std::string& after);

/// `writes`: counts one more time of having written.
[[nodiscard]] request poll_metadata(const std::string& table, bool writes);

}  // namespace onceguard::dynamodb
