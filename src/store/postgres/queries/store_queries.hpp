// Questions about the whole store: lists, counts, vitals, the epoch. Parameters and results.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "libpq/binary_format.hpp"
#include "store/epoch_metadata.hpp"
#include "store/postgres/queries/known_memory.hpp"
#include "store/postgres/queries/record_row.hpp"

namespace onceguard::postgres {

/// Where a list or a count goes on: behind a record of a piece of the table.
struct table_position {
  std::int64_t page = 0;   ///< with which the piece begins
  std::int64_t first = 0;  ///< of the record's first claim; 0: the piece was not begun yet
  record_id id{};
};
/// The empty cursor is the beginning.
[[nodiscard]] result<table_position> read_cursor(const std::string& cursor);

[[nodiscard]] parameters ask_list(const list_filter& filter, const table_position& after,
                                  std::size_t limit, bool expiry_paused);
[[nodiscard]] list_page read_list(const rows& rows, const list_filter& filter,
                                  const table_position& after, std::size_t limit,
                                  bool expiry_paused, const std::string& name);

/// Lists of the records that are noted, in the order of their ids. The cursor is that of such a
/// list, or of one by key.
[[nodiscard]] result<record_id> read_id_cursor(const std::string& cursor);
[[nodiscard]] parameters ask_attention(const record_id& after, std::size_t limit,
                                       bool expiry_paused);
[[nodiscard]] list_page read_attention(const rows& rows, const list_filter& filter,
                                       std::size_t limit, bool expiry_paused,
                                       const std::string& name);

/// Lists of the records of one key, by its index, in the order of their ids. The cursor is that of
/// such a list.
[[nodiscard]] bool is_key_cursor(const std::string& cursor) noexcept;
/// Where a list by key goes on that its index left meanwhile: through the whole table, and without
/// the records up to the one behind which the index was.
struct left_list {
  std::string after;  ///< cursor of the list by key; empty: no such list was begun
  std::string rest;   ///< cursor of the table
};
[[nodiscard]] left_list split_cursor(const std::string& cursor);
/// The next page's cursor, and only the records that the index had not listed.
[[nodiscard]] result<list_page> go_on_behind(const left_list& left, list_page page);
[[nodiscard]] parameters ask_key(const std::string& key, const record_id& after, std::size_t limit);
[[nodiscard]] list_page read_key(const rows& rows, const list_filter& filter, std::size_t limit,
                                 bool expiry_paused, const std::string& name);

[[nodiscard]] parameters ask_count(const table_position& after, bool expiry_paused);
[[nodiscard]] counts read_counts(const rows& rows, const table_position& after);

/// The vitals, and what else they are read with.
struct poll_reply {
  onceguard::vitals vitals;
  std::int64_t floor = 0;
  std::int64_t now = 0;
};
[[nodiscard]] poll_reply read_vitals(const rows& rows);

[[nodiscard]] epoch_reading read_epoch(const rows& rows, const std::string& accelerator);
[[nodiscard]] parameters ask_note(const accelerator_state& found, const std::string& distrusted);
/// The only value of the only row.
[[nodiscard]] bool read_boolean(const rows& rows);

}  // namespace onceguard::postgres
