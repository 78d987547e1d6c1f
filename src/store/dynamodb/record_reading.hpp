// A record as it stands in the table.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

#include "store/dynamodb/clocks.hpp"
#include "store/dynamodb/observations.hpp"
#include "store/dynamodb/wire/item.hpp"
#include "store/dynamodb/wire/payload.hpp"
#include "store/lease_cache.hpp"

namespace onceguard::dynamodb {

/// A record as this process has written it, for the settle of its lease.
struct cached_lease {
  stored_record stored;  ///< with points in time of this process's clock
  item written;
};
using lease_cache = onceguard::lease_cache<cached_lease>;

/// What acts need of their store.
struct act_context {
  const std::string& table;
  clocks& time;
  observations& seen;
  lease_cache& leases;
  milliseconds retention_margin;
  std::size_t piece_size;
  int pages_in_order;
};

/// `stored` and `unreadable` are both empty: there is no record.
struct reading {
  std::optional<item> found;
  std::optional<stored_record> stored;  ///< with points in time of this process's clocks
  std::optional<error> unreadable;
  instant now;             ///< after the read was answered
  std::int64_t since = 0;  ///< on the clock of leases: nothing was written since then

  /// What is decided on. An expired record is absent, whether or not it is still in the table: only
  /// its token counts.
  [[nodiscard]] const record* former() const {
    return stored && !expired(stored->record, now) ? &stored->record : nullptr;
  }
  /// As of record_view.
  [[nodiscard]] std::int64_t revision() const {
    return stored ? static_cast<std::int64_t>(stored->writes) : 0;
  }
  static constexpr auto whose_clock = "this machine's clock";
  /// Larger than any token of the record.
  [[nodiscard]] token next_token() const {
    return clocks::next_token(now, stored ? &stored->record : nullptr);
  }
  [[nodiscard]] token clock_token() const { return clocks::next_token(now, nullptr); }
  /// Of what can't be read, the lease may be left.
  [[nodiscard]] token token_beyond() const;
};

/// Decodes the item and counts since when it stands so.
[[nodiscard]] reading read_record(const record_id& id, std::optional<item> found,
                                  const act_context& context);

/// The view of a record that was read; its answer may be left out. Of a retention, the margin is
/// not shown, and does not move to another store.
[[nodiscard]] record_view view_of(const record_id& id, const stored_record& stored,
                                  const instant& now, const act_context& context);

/// The answer that the pieces make, in their order. errc::record_unreadable: one is missing, or
/// they do not belong together.
[[nodiscard]] result<answer_ptr> join_pieces(const piece_set& set,
                                             const std::vector<std::optional<std::string>>& pieces);

}  // namespace onceguard::dynamodb
