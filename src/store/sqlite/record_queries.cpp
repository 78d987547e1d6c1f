#include "store/sqlite/record_queries.hpp"

#include <algorithm>
#include <charconv>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "store/sqlite/record_table.hpp"
#include "store/view.hpp"

namespace onceguard::sqlite {
namespace {

/// A read transaction: all that is asked within it is of one moment.
class snapshot {
 public:
  explicit snapshot(connection& on) : on_(on) { on_.run("BEGIN"); }
  snapshot(const snapshot&) = delete;
  snapshot& operator=(const snapshot&) = delete;
  ~snapshot() { on_.roll_back(); }

 private:
  connection& on_;
};

bool is_settled(observed_state state) noexcept {
  return state == observed_state::completed || state == observed_state::failed ||
         state == observed_state::released;
}

void report_unreadable(std::string_view digest, const error& why) {
  const std::span bytes(reinterpret_cast<const unsigned char*>(digest.data()), digest.size());
  base::log(base::log_level::error, "a stored record can't be read",
            {{"record", base::to_hex(bytes)}, {"why", why.detail}});
}

record_id id_from(std::string_view digest) {
  record_id out{};
  std::copy_n(digest.begin(), std::min(digest.size(), out.size()), out.begin());
  return out;
}

}  // namespace

record_queries::record_queries(session& on)
    : on_(on),
      find_(on.on().prepare("SELECT boot, record FROM records WHERE digest = ?")),
      all_(
          on.on().prepare("SELECT id, digest, boot, record FROM records WHERE id > ? ORDER BY id")),
      settled_(on.on().prepare("SELECT id, digest, boot, record FROM records "
                               "WHERE id > ? AND state = ?2 ORDER BY id")),
      // Few among many: their numbers come from the index.
      unsettled_(on.on().prepare(
          "SELECT id, digest, boot, record FROM records WHERE id IN (SELECT id FROM records "
          "INDEXED BY records_by_expiry WHERE id > ? AND state < 4) ORDER BY id")),
      count_settled_(on.on().prepare(
          "SELECT state, count(*) FROM records INDEXED BY records_by_expiry "
          "WHERE state >= 4 AND (expires_at > ? OR expires_at IS NULL) GROUP BY state")),
      count_unsettled_(on.on().prepare(
          "SELECT id, digest, boot, record FROM records WHERE id IN "
          "(SELECT id FROM records INDEXED BY records_by_expiry WHERE state < 4)")) {}

result<std::optional<record_view>> record_queries::find(const record_id& id) {
  const snapshot of_now(on_.on());
  const auto at = on_.books().look_at_clocks_only();
  const resetting at_end(find_);
  find_.bind(1, id);
  std::optional<record_view> out;
  if (!find_.step()) return out;
  auto read = read_record(find_.bytes(1), find_.integer(0), at.boot);
  if (!read) return read.error();
  if (!expired(*read, at.now)) out = make_view(id, std::move(*read), at.now);
  return out;
}

statement& record_queries::rows_for(const std::optional<observed_state>& state) {
  if (!state) return all_;
  if (!is_settled(*state)) return unsettled_;
  settled_.bind(2, static_cast<std::int64_t>(*state));
  return settled_;
}

result<list_page> record_queries::list(const list_filter& filter, const std::string& cursor,
                                       std::size_t limit) {
  std::int64_t after = 0;
  const auto* end = cursor.data() + cursor.size();
  if (!cursor.empty() && std::from_chars(cursor.data(), end, after).ptr != end) {
    return error(errc::invalid_argument, "list: this cursor was not given by this store");
  }
  const snapshot of_now(on_.on());
  const auto at = on_.books().look_at_clocks_only();
  auto& rows = rows_for(filter.state);
  const resetting at_end(rows);
  rows.bind(1, after);
  list_page page;
  for (std::size_t examined = 0; rows.step(); ++examined) {
    if (page.records.size() >= limit || examined >= examined_max) {
      page.cursor = std::to_string(after);
      break;
    }
    after = rows.integer(0);
    const auto bytes = rows.bytes(3);
    // A record with that key has its bytes in it somewhere: cheaper than reading it.
    if (filter.key && bytes.find(*filter.key) == std::string_view::npos) continue;
    auto read = read_record(bytes, rows.integer(2), at.boot);
    if (!read) {
      report_unreadable(rows.bytes(1), read.error());
      ++page.unreadable;
      continue;
    }
    if (expired(*read, at.now)) continue;
    auto view = make_view(id_from(rows.bytes(1)), std::move(*read), at.now);
    if (matches(filter, view)) page.records.push_back(std::move(view));
  }
  return page;
}

result<counts> record_queries::count() {
  const snapshot of_now(on_.on());
  const auto at = on_.books().look_at_clocks_only();
  counts out;
  {
    const resetting at_end(count_settled_);
    // Every time is after this one: while expiry is paused, nothing is expired.
    count_settled_.bind(
        1, at.now.expiry_paused ? std::numeric_limits<std::int64_t>::min() : at.now.wall);
    while (count_settled_.step()) {
      const auto state = static_cast<std::size_t>(count_settled_.integer(0));
      if (state < out.by_state.size()) {
        out.by_state[state] += static_cast<std::uint64_t>(count_settled_.integer(1));
      }
    }
  }
  const resetting at_end(count_unsettled_);
  while (count_unsettled_.step()) {
    const auto read = read_record(count_unsettled_.bytes(3), count_unsettled_.integer(2), at.boot);
    if (!read) {
      // It may have run: nobody knows.
      report_unreadable(count_unsettled_.bytes(1), read.error());
      ++out.by_state[static_cast<std::size_t>(observed_state::unknown)];
    } else if (!expired(*read, at.now)) {
      ++out.by_state[static_cast<std::size_t>(observe(*read, at.now))];
    }
  }
  return out;
}

result<vitals> record_queries::look_at_vitals() {
  const auto found = on_.books().read_meta();
  vitals out;
  out.identity = found.identity;
  out.generation = found.granted;
  out.forgotten = found.forgotten;
  return out;
}

}  // namespace onceguard::sqlite
