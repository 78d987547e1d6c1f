// What a store asks its servers: the calls of scripts, and their replies. Each is a Kind of
// batch_job.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/request.hpp"
#include "store/redis/stored.hpp"

namespace onceguard::redis {

// --- records --------------------------------------------------------------------------------

/// What a script found of a record.
struct reading {
  stamp at = 0;
  bool written = false;                ///< the record was written; nothing was read
  std::string begins;                  ///< as a swap takes it; empty: there is no record
  std::optional<stored_record> found;  ///< empty: no record, or an unreadable one
  std::optional<error> unreadable;
};

/// Null: there is no record.
[[nodiscard]] const record* record_in(const reading& seen) noexcept;
[[nodiscard]] stamp first_in(const reading& seen) noexcept;
/// Why nothing can be decided on the record.
[[nodiscard]] std::optional<error> fault_of(const reading& seen);

struct record_calls {
  struct item {
    script which = script::look;
    record_id id{};
    std::string begins;   ///< swap: how the record must begin
    std::string payload;  ///< claim, swap
    std::string life;     ///< claim, swap: as of life_of()
    bool grants = false;
    bool announces = false;
    bool forgets = false;  ///< swap: counts an answer that the store forgets
    bool repeatable = true;
  };
  using outcome = reading;
  [[nodiscard]] static request_traits traits_of(const item& item);
  static void write(std::string& text, const script_digests& scripts, const keyspace& names,
                    const item& item);
  [[nodiscard]] static result<reading> read(const reply& reply, const item& item);
};

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
};

/// `evictions`: whether an eviction is a loss. `intro`: of a new connection; null: of a poll.
void write_greeting(std::string& text, const script_digests& scripts, std::string_view metadata,
                    bool evictions, const introduction* intro);
[[nodiscard]] greeting read_greeting(const reply& reply);

/// Reads the metadata of a part, on the server that has the part's records.
struct polls {
  struct item {
    std::size_t part = 0;
    bool evictions = false;
  };
  using outcome = greeting;
  [[nodiscard]] static request_traits traits_of(const item& item);
  static void write(std::string& text, const script_digests& scripts, const keyspace& names,
                    const item& item);
  [[nodiscard]] static result<greeting> read(const reply& reply, const item&) {
    return read_greeting(reply);
  }
};

// --- servers --------------------------------------------------------------------------------

/// The next names of keys on a server.
struct name_scans {
  struct item {
    server_pin pin;
    std::string cursor = "0";
  };
  struct outcome {
    std::string cursor;  ///< "0": these were the last names
    std::vector<std::string> names;
  };
  [[nodiscard]] static request_traits traits_of(const item& item);
  static void write(std::string& text, const script_digests& scripts, const keyspace& names,
                    const item& item);
  [[nodiscard]] static result<outcome> read(const reply& reply, const item&);
};

/// CLUSTER NODES.
struct node_lists {
  struct item {
    server_pin pin;
  };
  using outcome = std::string;
  [[nodiscard]] static request_traits traits_of(const item& item);
  static void write(std::string& text, const script_digests& scripts, const keyspace& names,
                    const item& item);
  [[nodiscard]] static result<std::string> read(const reply& reply, const item&) {
    return std::string(reply.text());
  }
};

}  // namespace onceguard::redis
