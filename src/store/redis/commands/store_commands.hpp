// What a store asks its servers: the calls of scripts, and their replies.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/commands/record_value.hpp"
#include "store/redis/commands/request.hpp"

namespace onceguard::redis {

// --- records --------------------------------------------------------------------------------

/// What a script found of a record.
struct reading {
  stamp time = 0;                      ///< of the server, when the script ran
  bool written = false;                ///< the record was written; nothing was read
  std::string begins;                  ///< as a swap takes it; empty: there is no record
  std::optional<stored_record> found;  ///< empty: no record, or an unreadable one
  std::optional<error> unreadable;
  instant now;  ///< the time of the server

  static constexpr auto whose_clock = "this server's clock";
  /// Null: there is no record.
  [[nodiscard]] const record* former() const noexcept { return found ? &found->record : nullptr; }
  /// As of record_view.
  [[nodiscard]] std::int64_t revision() const noexcept {
    return found ? found->record.deadline_lease : 0;
  }
  /// Of a first claim the server gives it: its stamp.
  [[nodiscard]] token next_token() const noexcept {
    return found ? std::max(time, found->record.token + 1) : 0;
  }
  [[nodiscard]] token clock_token() const noexcept { return time; }
  [[nodiscard]] token token_beyond() const noexcept { return time + 1; }
};

/// Why nothing can be decided on the record.
[[nodiscard]] std::optional<error> fault_of(const reading& seen);

[[nodiscard]] request record_request(const keyspace& names, const record_id& id);
/// Sets a record where there is none. `life` as of life_of().
[[nodiscard]] request set_record(const keyspace& names, const record_id& id,
                                 std::string_view payload, std::string_view life);
/// Replaces the record that begins so. `forgets`: counts an answer that the store forgets.
[[nodiscard]] request swap_record(const keyspace& names, const record_id& id,
                                  std::string_view begins, std::string_view payload,
                                  std::string_view life, bool forgets);
/// Of the reply to one of the three.
[[nodiscard]] reading read_record(const reply& reply);

// --- metadata -------------------------------------------------------------------------------

/// What a process knows of a part of the store: its name, and its generation in a run of a server.
struct known_metadata {
  std::string name;
  std::string run;
  std::uint64_t generation = 0;
};

/// What a new connection tells a part of the store.
struct introduction {
  std::string_view run;   ///< of the server
  std::string_view node;  ///< which of several it is
  const known_metadata& known;
  bool others_lose = false;  ///< data that come from another server are a loss …
  std::string_view masters;  ///< … unless that server is one of these
};

/// The metadata of a part, and the server's clock.
struct greeting {
  std::string name;
  std::uint64_t generation = 0;
  std::int64_t now = 0;
  bool lost = false;  ///< writes that this process had seen are missing
  std::uint64_t forgotten = 0;
  std::string eviction;       ///< the server's maxmemory-policy; empty: unknown
  std::uint64_t evicted = 0;  ///< keys that the server evicted since the previous greeting
  std::string refused{};      ///< of a poll: why the server takes no writes; empty: it takes them
};

/// `evictions`: whether an eviction is a loss. `intro`: of a new connection; null: of a poll.
void append_greeting(std::string& text, std::string_view metadata, bool evictions,
                     const introduction* intro);
[[nodiscard]] greeting read_greeting(const reply& reply);
/// Polls the metadata of a part, on the server that has the part's records.
[[nodiscard]] request poll_part(const keyspace& names, std::size_t part, bool evictions);

// --- notes of what may need a person ---------------------------------------------------------

[[nodiscard]] request add_note(const keyspace& names, const record_id& id);
[[nodiscard]] request drop_note(const keyspace& names, const record_id& id);
/// All notes of a part.
[[nodiscard]] request read_notes_of(const keyspace& names, std::size_t part);
[[nodiscard]] std::vector<record_id> read_notes(const reply& reply);
/// The state of a record, without the rest of it.
[[nodiscard]] request ask_for_state(const keyspace& names, const record_id& id);
/// False: it is unsettled, or damaged. True also of a record that is gone.
[[nodiscard]] bool is_settled(const reply& reply);

// --- servers --------------------------------------------------------------------------------

/// Some names of keys on a server.
struct name_list {
  std::string cursor;  ///< "0": these were the last names
  std::vector<std::string> names;
};
[[nodiscard]] request scan_names(const keyspace& names, const server_pin& pin,
                                 std::string_view cursor);
[[nodiscard]] name_list read_names(const reply& reply);

/// CLUSTER NODES.
[[nodiscard]] request ask_for_nodes(const server_pin& pin);

}  // namespace onceguard::redis
