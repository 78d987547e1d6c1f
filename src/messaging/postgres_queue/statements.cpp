#include "messaging/postgres_queue/statements.hpp"

#include "messaging/postgres_queue/queue_table.hpp"

// Why no key is ever out of order, or held twice. A message is taken if the snapshot of the
// statement has no earlier live one of its key, and none of its key that is held. Its own row is
// checked again once it is locked, the others are not. What may have changed meanwhile:
// an earlier message can't have come back to life by a delivery, as it was gone by acknowledgement
// or death; it may have come late, from a transaction whose ids are lower, and then there is no
// order between the two; but it, or one whose delay has just ended, may be held by now: that one
// and this one would both stand in the unique index of what is held, which refuses the second.
// A row that another transaction has locked is skipped, never the rows behind it for that: to them,
// it is as alive as before.
//
// Why each first message of a key is found (in_front). `clear` takes a row out only if it can lock
// an earlier live row of the same key: who ends that one waits, and puts the next one in with a
// snapshot of then, by the table's trigger. A row that is held stays in, so that it is found when
// its hold is over.

namespace onceguard::messaging::postgres_queue {
namespace {

constexpr std::string_view due_rows = R"sql(
  FROM {t} q WHERE q.in_front AND q.dead_since IS NULL AND q.visible_at <= now()
    AND ((q.order_key <> '') IS NOT TRUE OR q.held_by IS NOT NULL OR ({free})))sql";

constexpr std::string_view fresh_rows = R"sql(
  FROM {t} q WHERE q.in_front AND q.dead_since IS NULL AND q.visible_at IS NULL
    AND q.id <= (SELECT max(w.id) FROM (
      SELECT id FROM {t} WHERE in_front AND dead_since IS NULL AND visible_at IS NULL
      ORDER BY id LIMIT {window}) w)
    AND ((q.order_key <> '') IS NOT TRUE OR q.held_by IS NOT NULL OR ({free})))sql";

constexpr std::string_view take_live = R"sql(
WITH due AS MATERIALIZED (
  SELECT q.id {due}
  ORDER BY q.visible_at LIMIT $1 FOR UPDATE OF q SKIP LOCKED
), fresh AS MATERIALIZED (
  SELECT q.id {fresh}
  ORDER BY q.id LIMIT $1 - (SELECT count(*) FROM due) FOR UPDATE OF q SKIP LOCKED
), taken AS (SELECT id FROM due UNION ALL SELECT id FROM fresh))sql";

constexpr std::string_view take_dead = R"sql(
WITH taken AS MATERIALIZED (
  SELECT q.id FROM {t} q
  WHERE q.dead_since IS NOT NULL AND (q.visible_at IS NULL OR q.visible_at <= now())
    AND $4::bigint > 0
  ORDER BY q.id LIMIT $1 FOR UPDATE OF q SKIP LOCKED
))sql";

// Whatever stands in a row: one that the statement can't count on would stop all.
constexpr std::string_view hold_taken = R"sql(
UPDATE {t} m SET held_by = $2,
  deliveries = greatest(least(coalesce(m.deliveries, 0), 2147483646), 0) + 1,
  visible_at = now() + $3 * interval '1 millisecond'
FROM taken WHERE m.id = taken.id
RETURNING )sql";

constexpr std::string_view all_of_row =
    "m.id, m.message_id, m.order_key, m.payload, m.headers, m.deliveries{more}";

constexpr std::string_view nothing_before = R"sql(
  NOT EXISTS (SELECT FROM {t} o WHERE o.order_key = q.order_key AND o.order_key <> ''
              AND o.dead_since IS NULL AND o.id < q.id{awake})
  AND NOT EXISTS (SELECT FROM {t} h WHERE h.order_key = q.order_key AND h.order_key <> ''
                  AND h.dead_since IS NULL AND h.held_by IS NOT NULL))sql";

// What a consumer that skips does not let pass.
constexpr std::string_view no_delay =
    " AND (o.held_by IS NOT NULL OR o.visible_at IS NULL OR o.visible_at <= now())";

constexpr std::string_view clear_live = R"sql(
WITH w AS MATERIALIZED (
  (SELECT id FROM {t} WHERE in_front AND dead_since IS NULL AND visible_at IS NULL
   ORDER BY id LIMIT $1)
  UNION ALL
  (SELECT id FROM {t} WHERE in_front AND dead_since IS NULL AND visible_at <= now()
   ORDER BY visible_at LIMIT $1)
), behind AS MATERIALIZED (
  SELECT q.id, q.order_key FROM w JOIN {t} q ON q.id = w.id
  WHERE q.in_front AND q.dead_since IS NULL AND q.held_by IS NULL AND q.order_key <> ''
    AND EXISTS (SELECT FROM {t} o WHERE o.order_key = q.order_key AND o.order_key <> ''
                AND o.dead_since IS NULL AND o.id < q.id{awake})
  FOR NO KEY UPDATE OF q SKIP LOCKED
), kept AS MATERIALIZED (
  SELECT behind.id FROM behind CROSS JOIN LATERAL (
    SELECT o.id FROM {t} o WHERE o.order_key = behind.order_key AND o.order_key <> ''
      AND o.dead_since IS NULL AND o.id < behind.id{awake}
    ORDER BY o.id LIMIT 1 FOR SHARE OF o SKIP LOCKED) earlier
), cleared AS (
  UPDATE {t} m SET in_front = false FROM kept WHERE m.id = kept.id RETURNING m.id
)
SELECT (SELECT count(*) FROM cleared), (SELECT count(*) FROM w) >= $1,
  (SELECT ceil(extract(epoch FROM min(visible_at) - clock_timestamp()) * 1000)::bigint FROM {t}
   WHERE in_front AND dead_since IS NULL AND visible_at > now() AND visible_at < 'infinity'),
  EXISTS (SELECT {due}) OR EXISTS (SELECT {fresh}))sql";

constexpr std::string_view clear_dead = R"sql(
SELECT 0::bigint, $1::bigint < 0,
  (SELECT ceil(extract(epoch FROM min(visible_at) - clock_timestamp()) * 1000)::bigint FROM {t}
   WHERE dead_since IS NOT NULL AND visible_at > now() AND visible_at < 'infinity'),
  EXISTS (SELECT FROM {t} WHERE dead_since IS NOT NULL
          AND (visible_at IS NULL OR visible_at <= now())))sql";

constexpr std::string_view backlog_rows = R"sql(
SELECT (SELECT count(*) FROM (SELECT FROM {t} WHERE {kind}
  AND (held_by IS NULL OR visible_at <= now()) LIMIT 1000000) w), count(p.id), min(p.id)
FROM (SELECT id FROM {t} WHERE {kind}{front} AND visible_at = 'infinity' LIMIT 1000000) p)sql";

std::string filled(std::string text, std::string_view mark, std::string_view part) {
  for (auto found = text.find(mark); found != text.npos; found = text.find(mark)) {
    text.replace(found, mark.size(), part);
  }
  return text;
}

/// `window`: the parameter that says how many rows are read.
std::string complete(std::string text, const queue_url& url, std::string_view window = {}) {
  text = filled(std::move(text), "{due}", due_rows);
  text = filled(std::move(text), "{fresh}", fresh_rows);
  text = filled(std::move(text), "{window}", window);
  text = filled(std::move(text), "{more}", url.outbox ? ", m.properties" : "");
  text = filled(std::move(text), "{free}", nothing_before);
  text = filled(std::move(text), "{awake}", url.skips ? no_delay : std::string_view());
  return about_table(text, url.table);
}

}  // namespace

consumer_statements::consumer_statements(const queue_url& url) {
  const auto one = [&](std::string_view text) { return complete(std::string(text), url); };
  const auto chosen = std::string(url.dead ? take_dead : take_live).append(hold_taken);
  take = complete(chosen + std::string(all_of_row), url, "$4");
  hold = complete(chosen + "m.id", url, "$4");
  read = one("SELECT " + std::string(all_of_row) + " FROM {t} m WHERE id = $1 AND held_by = $2");
  clear = complete(std::string(url.dead ? clear_dead : clear_live), url, "$1");
  acknowledge = one("DELETE FROM {t} WHERE id = $1 AND held_by = $2");
  extend =
      one("UPDATE {t} SET visible_at = now() + $3 * interval '1 millisecond'"
          " WHERE id = $1 AND held_by = $2");
  // Consumers that wait know of other times only.
  const auto notifying = [&](std::string_view change) {
    return one("WITH changed AS (UPDATE {t} SET " + std::string(change) +
               " WHERE id = $1 AND held_by = $2 RETURNING id)"
               " SELECT id, pg_notify(") +
           channel_expression(url.table) + ", '') FROM changed";
  };
  give_back = notifying("held_by = NULL, visible_at = now() + $3 * interval '1 millisecond'");
  const std::string dead = "held_by = NULL, visible_at = NULL, dead_since = now()";
  dead_letter = notifying(dead);
  const std::string reason = url.outbox ? ", reason = 'the row can not be read'" : "";
  set_aside = notifying(url.dead ? "held_by = NULL, visible_at = 'infinity'" : dead + reason);
  auto counted = filled(std::string(backlog_rows), "{kind}",
                        url.dead ? "dead_since IS NOT NULL" : "dead_since IS NULL");
  backlog = one(filled(std::move(counted), "{front}", url.dead ? "" : " AND in_front"));
}

std::string publish_batch_statement(const queue_url& url) {
  return about_table(
      "INSERT INTO {t} (message_id, order_key, payload, headers, in_front)"
      " SELECT m, k, p, h::bytea[], f FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY"
      " AS u(m, k, p, h, f, n) ORDER BY n",
      url.table);
}

std::string check_statement(const queue_url& url) {
  // A privilege that is missing shows when it is needed.
  return "SELECT count(*) = " + std::string(url.outbox ? "9" : "6") +
         " FROM pg_catalog.pg_attribute WHERE attrelid = " + quoted_literal(url.table) +
         "::regclass AND NOT attisdropped AND attname IN ('message_id', 'order_key', 'headers',"
         " 'held_by', 'dead_since', 'in_front'" +
         (url.outbox ? ", 'properties', 'failures', 'reason')" : ")");
}

}  // namespace onceguard::messaging::postgres_queue
