// What operators ask of a Redis store, as questions, and their replies.
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

/// A record as a page of a list begins with it.
struct listed {
  token first = 0;
  record_id id{};
  friend auto operator<=>(const listed&, const listed&) = default;
};

/// Where a page of a list begins: behind this one. Text: 16 and 64 hex digits.
[[nodiscard]] std::string cursor_of(const listed& last);
/// Of the first page: a record before all others. errc::invalid_argument: no cursor of ours.
[[nodiscard]] result<listed> read_cursor(const std::string& cursor);

/// One step through all names. What it finds may come twice, or be gone by now.
struct scan_step {
  std::string cursor = "0";  ///< of the server; "0": the beginning, and the end
  std::vector<unreadable_record> unreadable;
  std::vector<std::pair<listed, record_view>> found;
  state_counts counts{};
};

void write_resolve(std::string& text, const script_calls& scripts, const keyspace& names,
                   const resolution& request, bool answer_damaged);
[[nodiscard]] result<resolve_decision> read_resolve(const reply& reply);

/// What is wrong with it, so that it can't be stored here.
[[nodiscard]] std::optional<error> complaint(const imported_record& request);
void write_import(std::string& text, const script_calls& scripts, const keyspace& names,
                  const imported_record& request);
[[nodiscard]] result<import_outcome> read_import(const reply& reply);

void write_find(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id);
[[nodiscard]] result<std::optional<record_view>> read_find(const reply& reply, const record_id& id);

/// Of one record what stands before its answer; none: it is gone.
void write_head(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id);
using found_head = std::optional<std::pair<listed, record_view>>;
[[nodiscard]] result<found_head> read_head(const reply& reply, const record_id& id);

/// On a node of a cluster: the next names.
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

/// What the books of a part say, and the server's clock.
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
