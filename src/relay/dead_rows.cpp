#include "relay/dead_rows.hpp"

#include <utility>

#include "messaging/postgres_queue/queue_connection.hpp"
#include "messaging/postgres_queue/queue_table.hpp"

namespace onceguard::relay {

namespace queue = messaging::postgres_queue;

namespace {

constexpr std::string_view read_rows =
    "SELECT id, message_id, order_key, failures, left(reason, 1000), octet_length(payload),"
    " CASE WHEN isfinite(dead_since) THEN (extract(epoch FROM dead_since) * 1000000)::bigint"
    " ELSE 0 END FROM {t} WHERE dead_since IS NOT NULL";

/// Dead since then, and held by nobody who consumes the dead letters.
std::string as_seen() {
  const std::string unheld = "(held_by IS NULL OR visible_at IS NULL OR visible_at <= now())";
  return " WHERE id = $1 AND dead_since IS NOT NULL"
         " AND CASE WHEN isfinite(dead_since)"
         " THEN (extract(epoch FROM dead_since) * 1000000)::bigint ELSE 0 END = $2 AND " +
         unheld + " RETURNING id";
}

dead_row row_of(const queue::rows& read, int row) {
  dead_row out;
  out.number = read.integer(row, 0);
  out.message_id = read.bytes(row, 1);
  out.order_key = read.bytes(row, 2);
  out.failures = static_cast<std::uint64_t>(read.integer(row, 3));
  out.reason = read.bytes(row, 4);
  out.payload_size = static_cast<std::uint64_t>(read.integer(row, 5));
  out.dead_since = read.integer(row, 6);
  return out;
}

std::vector<dead_row> rows_of(const queue::rows& read) {
  std::vector<dead_row> out;
  for (int row = 0; row < read.size(); ++row) out.push_back(row_of(read, row));
  return out;
}

}  // namespace

dead_rows::dead_rows(std::unique_ptr<queue::connection> server, std::string table)
    : server_(std::move(server)), table_(std::move(table)) {}
dead_rows::dead_rows(dead_rows&& other) noexcept = default;
dead_rows& dead_rows::operator=(dead_rows&& other) noexcept = default;
dead_rows::~dead_rows() = default;

result<dead_rows> dead_rows::open(const relay_params& params) {
  const auto url = queue::parse_queue_url(params.outbox);
  if (!url) return url.error();
  auto server = queue::connection::open(*url, params.timeout, params.name);
  if (!server) return server.error();
  return dead_rows(std::move(*server), url->table);
}

result<std::vector<dead_row>> dead_rows::list(std::size_t most) {
  const auto statement = std::string(read_rows) + " ORDER BY id LIMIT $1";
  const auto read = server_->run(queue::about_table(statement, table_),
                                 queue::parameters().int8(static_cast<std::int64_t>(most)));
  if (!read) return read.error();
  return rows_of(*read);
}

result<std::vector<dead_row>> dead_rows::of_message(const std::string& message_id,
                                                    std::size_t most) {
  const auto statement = std::string(read_rows) + " AND message_id = $1 ORDER BY id LIMIT $2";
  const auto read =
      server_->run(queue::about_table(statement, table_),
                   queue::parameters().bytes(message_id).int8(static_cast<std::int64_t>(most)));
  if (!read) return read.error();
  return rows_of(*read);
}

result<std::optional<dead_row>> dead_rows::find(std::int64_t number) {
  const auto statement = std::string(read_rows) + " AND id = $1";
  const auto read =
      server_->run(queue::about_table(statement, table_), queue::parameters().int8(number));
  if (!read) return read.error();
  std::optional<dead_row> out;
  if (read->size() > 0) out = row_of(*read, 0);
  return out;
}

result<bool> dead_rows::change(std::string_view statement, const dead_row& seen) {
  const auto changed = server_->run(queue::about_table(statement, table_),
                                    queue::parameters().int8(seen.number).int8(seen.dead_since));
  if (!changed) return changed.error();
  return changed->size() > 0;
}

result<bool> dead_rows::revive(const dead_row& seen) {
  // Relays are woken as by a publisher: the table's own triggers look at keys alone.
  const auto statement =
      "WITH revived AS (UPDATE {t} SET dead_since = NULL, visible_at = NULL, held_by = NULL,"
      " in_front = true, failures = 0" +
      as_seen() + ") SELECT id, pg_catalog.pg_notify(" + queue::channel_expression(table_) +
      ", '')::text FROM revived";
  return change(statement, seen);
}

result<bool> dead_rows::drop(const dead_row& seen) {
  return change("DELETE FROM {t}" + as_seen(), seen);
}

}  // namespace onceguard::relay
