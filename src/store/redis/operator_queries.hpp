// The requests of operators to a Redis store, and their replies.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/question.hpp"

namespace onceguard::redis {

using state_counts = std::array<std::uint64_t, observed_states + 1>;

/// The position of a record in the listing.
struct listed {
  token first = 0;
  record_id id{};
  friend auto operator<=>(const listed&, const listed&) = default;
};

/// The cursor of the page after this record, as text of 16 and 64 hex digits.
[[nodiscard]] std::string cursor_of(const listed& last);
/// The record of a cursor. For the first page, a position before all records.
/// errc::invalid_argument: the text is not a cursor of this store.
[[nodiscard]] result<listed> read_cursor(const std::string& cursor);

/// One step through all names. A record may come twice, or be gone by now.
struct scan_step {
  std::string cursor = "0";  ///< of the server; "0": the beginning, and the end
  std::vector<unreadable_record> unreadable;
  std::vector<std::pair<listed, record_view>> found;
  state_counts counts{};
};

void write_resolve(std::string& text, const script_calls& scripts, const keyspace& names,
                   const resolution& request, bool answer_damaged);
[[nodiscard]] result<resolve_decision> read_resolve(const reply& reply);

/// The reason why the record can't be stored; empty: it can.
[[nodiscard]] std::optional<error> complaint(const imported_record& request);
void write_import(std::string& text, const script_calls& scripts, const keyspace& names,
                  const imported_record& request);
[[nodiscard]] result<import_outcome> read_import(const reply& reply);

void write_find(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id);
[[nodiscard]] result<std::optional<record_view>> read_find(const reply& reply, const record_id& id);

/// Writes the call that reads a record without its answer. The reply is empty if the record is
/// gone.
void write_head(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id);
using found_head = std::optional<std::pair<listed, record_view>>;
[[nodiscard]] result<found_head> read_head(const reply& reply, const record_id& id);

/// The next names on a node of a cluster.
struct name_step {
  std::string cursor = "0";
  std::vector<record_id> found;
};
void write_names(std::string& text, const keyspace& names, const std::string& cursor);
[[nodiscard]] name_step read_names(const reply& reply, const keyspace& names);

/// `state`: 0, or that of an observed_state. `heads`: the records, else only how many.
void write_scan(std::string& text, const script_calls& scripts, const keyspace& names,
                const std::string& cursor, int state, bool heads);
[[nodiscard]] result<scan_step> read_scan(const reply& reply, const keyspace& names, bool heads);

/// The metadata of a part, and the server's clock.
struct part_vitals {
  onceguard::vitals of;
  std::int64_t now = 0;
  std::string eviction;       ///< the server's maxmemory-policy; empty: not told
  std::uint64_t evicted = 0;  ///< keys that the server evicted since anybody looked
};
void write_vitals(std::string& text, const script_calls& scripts, const keyspace& names,
                  std::size_t part, bool copies_only);
[[nodiscard]] part_vitals read_vitals(const reply& reply);

}  // namespace onceguard::redis
