#include "relay/outbox_rows.hpp"

#include "messaging/postgres_queue/queue_table.hpp"

namespace onceguard::relay {

namespace queue = messaging::postgres_queue;

namespace {

constexpr std::string_view note_statement =
    "UPDATE {t} SET failures = greatest(least(coalesce(failures, 0), 2147483646), 0) + 1, reason = "
    "pg_catalog.convert_from($2, 'UTF8')"
    " WHERE id = $1 RETURNING failures";
// Behind the first live row by number, none is much older.
constexpr std::string_view count_statement =
    "SELECT (SELECT count(*) FROM (SELECT FROM {t} WHERE dead_since IS NOT NULL LIMIT 1000000) d),"
    " (SELECT CASE WHEN isfinite(published_at) THEN greatest(0, ceil(extract(epoch FROM"
    " clock_timestamp() - published_at) * 1000))::bigint ELSE 0 END"
    " FROM {t} WHERE dead_since IS NULL ORDER BY id LIMIT 1)";

/// For a column of text: the reason may have the words of an endpoint or a broker in it.
std::string printable(std::string_view reason) {
  std::string out;
  for (const char c : reason.substr(0, 1'000)) out += c >= ' ' && c < 0x7f ? c : '?';
  return out;
}

}  // namespace

outbox_rows::outbox_rows(queue::queue_url url, milliseconds timeout, std::string name)
    : url_(std::move(url)), timeout_(timeout), name_(std::move(name)) {}

result<queue::rows> outbox_rows::run(const std::string& statement,
                                     const queue::parameters& values) {
  if (server_ == nullptr) {
    auto opened = queue::connection::open(url_, timeout_, name_);
    if (!opened) return opened.error();
    server_ = std::move(*opened);
  }
  auto got = server_->run(statement, values);
  if (!got) server_.reset();
  return got;
}

result<std::uint32_t> outbox_rows::note_refusal(std::int64_t row, std::string_view reason) {
  const auto noted = run(queue::about_table(note_statement, url_.table),
                         queue::parameters().int8(row).bytes(printable(reason)));
  if (!noted) return noted.error();
  // Somebody has deleted the row: then it is not sent again either.
  return noted->size() == 0 ? 1 : static_cast<std::uint32_t>(noted->integer(0, 0));
}

result<outbox_rows::numbers> outbox_rows::count() {
  const auto counted = run(queue::about_table(count_statement, url_.table));
  if (!counted) return counted.error();
  numbers out;
  out.dead = static_cast<std::uint64_t>(counted->integer(0, 0));
  if (!counted->null(0, 1)) out.oldest_age = milliseconds(counted->integer(0, 1));
  return out;
}

}  // namespace onceguard::relay
