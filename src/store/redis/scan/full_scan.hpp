// Scans all records of a store, on all of its servers. The result is complete or an error, also
// while parts move and servers fail.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <onceguard/store.hpp>

#include "store/redis/commands/record_value.hpp"
#include "store/redis/pool/server_pool.hpp"

namespace onceguard::redis {

/// The position of a record in the listing.
struct listed {
  stamp first = 0;
  record_id id{};
  friend auto operator<=>(const listed&, const listed&) = default;
};

/// The cursor of the page after this record, as text of 16 and 64 hex digits.
[[nodiscard]] std::string cursor_of(const listed& last);
/// The record of a cursor. For the first page, a position before all records.
/// errc::invalid_argument: the text is not a cursor of this store.
[[nodiscard]] result<listed> read_cursor(const std::string& cursor);

/// A record may be reported twice, or be gone by now.
class scan_listener {
 public:
  /// The scan begins, or begins anew: records that were reported before don't count any more.
  virtual void begin() = 0;
  /// The view is without its answer.
  virtual void take(const listed& position, record_view view) = 0;
  virtual void take_unreadable(const record_id& id, const std::string& why) = 0;

 protected:
  ~scan_listener() = default;
};

/// Reads records from the servers that have them now, and reports them.
[[nodiscard]] boost::asio::awaitable<std::optional<error>> report_records(
    server_pool& pool, std::vector<record_id> ids, steady_time until, scan_listener& listener);

/// Empty: all records were reported. The arguments must outlive the coroutine.
[[nodiscard]] boost::asio::awaitable<std::optional<error>> scan_all(server_pool& pool,
                                                                    steady_time until,
                                                                    scan_listener& listener);

}  // namespace onceguard::redis
