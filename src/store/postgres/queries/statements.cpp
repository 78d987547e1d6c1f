#include "store/postgres/queries/statements.hpp"

#include <array>

// The columns of a record, as stored.cpp numbers them. k.now is the database's clock.
#define ROW_COLUMNS(digest, outcome)                                                           \
  " " digest                                                                                   \
  ", r.xmin, k.now, r.claim_id, r.token, r.deadline_at, r.expires_at, r.state::text, r.flags," \
  " r.why, r.why_status, r.attempt, r.failures, r.unknown_retention, r.first_token,"           \
  " r.claimed_at, r.retry_at, r.subject, " outcome ", r.step, r.progress, octet_length(r.outcome)"
// A long outcome is left out where many records are read at once.
#define SHORT_OUTCOME "CASE WHEN octet_length(r.outcome) <= 32768 THEN r.outcome END"

// What a process knows of the memory, as parameters: a memory that is another one or an older copy
// raises an error.
#define MEMORY_HOLDS(identity, floor, connections, leases)                         \
  "(m.identity = " identity "::text AND m.floor >= " floor                         \
  "::bigint AND NOT EXISTS (SELECT FROM unnest(" connections "::bigint[], " leases \
  "::bigint[]) AS e(connection, leases)"                                           \
  " LEFT JOIN onceguard.lease_counts c ON c.connection = e.connection"             \
  " WHERE c.leases IS NULL OR c.leases < e.leases))"

// Counts a batch of leases for this connection, in the transaction that grants them. An older
// count than the process knows raises an error.
#define COUNT_LEASES(connection, known_leases, granted)                                         \
  "counted AS (INSERT INTO onceguard.lease_counts AS c (connection, leases, raises)"            \
  " SELECT " connection "::bigint, 1, k.raises FROM known k WHERE EXISTS (SELECT FROM " granted \
  ") ON CONFLICT (connection) DO UPDATE SET leases = c.leases + 1, raises = excluded.raises"    \
  " RETURNING CASE WHEN c.leases <= " known_leases                                              \
  "::bigint THEN onceguard.memory_lost()"                                                       \
  " ELSE c.leases END AS leases)"

#define LISTENED_TO "EXISTS (SELECT FROM onceguard.listeners l WHERE l.until > k.now)"

// A piece of the table, from the first page on until before another one.
#define IN_PIECE(row)                                       \
  row ".ctid >= format('(%s,0)', $1::bigint)::tid AND " row \
      ".ctid < format('(%s,0)', $2::bigint)::tid"
// OFFSET 0: the clock is read once, not for each row.
#define NOW_AND_PAGES                                                        \
  "(SELECT onceguard.now_ms() AS now, pg_relation_size('onceguard.records')" \
  " / current_setting('block_size')::bigint AS pages OFFSET 0) k"

// What the index by key has of a record: the key behind its length (indexed_key), which stands
// behind the scope's kind and its length. Functions of PostgreSQL alone: who inserts a record needs
// no right for it. A subject that no Onceguard wrote raises no error.
#define INDEXED_KEY                                                                     \
  "(CASE WHEN octet_length(subject) < 88 THEN NULL WHEN get_byte(subject, 34) < 128"    \
  " AND octet_length(subject) > 35 + get_byte(subject, 34)"                             \
  " THEN substr(subject, 36 + get_byte(subject, 34), least(1 + get_byte(subject, 35 + " \
  "get_byte(subject, 34)), 64)) END)"

// Notes a record that is written with its outcome unknown.
#define NOTE_UNKNOWN(digest, deadline, state, written)                                        \
  "noted AS (INSERT INTO onceguard.attention (digest) SELECT " digest "::bytea FROM " written \
  " WHERE " state                                                                             \
  "::text IN ('in_progress', 'probing')"                                                      \
  " AND " deadline "::bigint <= onceguard.now_ms() ON CONFLICT DO NOTHING)"

namespace onceguard::postgres {

// $1 digest, $2 claim id, $3 lock, $4 lease, $5 into started, $6 unknown retention, $7 retention,
// $8 flags, $9 subject, $10 connection, $11 its leases. The rows without a version were inserted;
// the others stand in the way, and are looked for only if something does. Neither comes back for a
// record that another transaction works on: its lock can't be got, or it is not in this statement's
// snapshot.
// An INSERT waits for a transaction that has inserted the same digest and not ended yet, ON
// CONFLICT or not. So whoever writes a record takes its advisory lock first, and who does not get
// the lock does not insert: a batch never waits for a stranger.
const statement claim_batch{
    "claim_batch",
    "WITH known AS MATERIALIZED (SELECT onceguard.now_ms() AS now, m.floor, m.raises,"
    " extract(microseconds FROM clock_timestamp())::bigint % 1000 AS us,"
    " pg_catalog.set_config('onceguard.floor', m.floor::text, true) AS seen"
    " FROM onceguard.meta m), granted AS ("
    " INSERT INTO onceguard.records AS r (digest, claim_id, token, deadline_at, expires_at, state,"
    " flags, retention, unknown_retention, claimed_at, subject)"
    " SELECT i.digest, i.claim_id, greatest(k.now * 1000 + k.us, k.floor + 1) + i.position - 1,"
    " k.now + i.lease,"
    " CASE WHEN i.unknown_retention = 0 THEN 0 ELSE k.now + i.lease + i.unknown_retention END,"
    " CASE WHEN i.started THEN 'started'::onceguard.state ELSE 'in_progress' END,"
    " nullif(i.flags, 0), nullif(i.retention, 86400000), nullif(i.unknown_retention, 0),"
    " CASE WHEN k.floor >= k.now * 1000 THEN k.now END, i.subject"
    " FROM known k, unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::boolean[],"
    " $6::bigint[], $7::bigint[], $8::smallint[], $9::bytea[])"
    " WITH ORDINALITY AS i(digest, claim_id, lock, lease, started, unknown_retention, retention,"
    " flags, subject, position)"
    " WHERE pg_try_advisory_xact_lock(i.lock)"
    " ON CONFLICT (digest) DO NOTHING RETURNING r.digest, r.claim_id, r.token), "
    COUNT_LEASES("$10", "$11", "granted")
    " SELECT g.digest, NULL::xid, NULL::bigint, g.claim_id, g.token, NULL, NULL, NULL, NULL, NULL,"
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, c.leases"
    " FROM granted g LEFT JOIN counted c ON true UNION ALL"
    " SELECT" ROW_COLUMNS("r.digest", SHORT_OUTCOME) ", NULL FROM known k,"
    " unnest($1::bytea[]) AS i(digest) JOIN onceguard.records r ON r.digest = i.digest"
    " WHERE (SELECT count(*) FROM granted) < cardinality($1)"};

// Follows the claims of a batch in their transaction: an insert may have waited until older records
// were put back, or until a record was removed and the floor raised above its token, which the
// snapshot from before does not show.
const statement check_memory{
    "check_memory",
    "SELECT CASE WHEN NOT " MEMORY_HOLDS(
        "$1", "$2", "$3", "$4") " THEN onceguard.memory_lost()"
    " WHEN m.floor > pg_catalog.current_setting('onceguard.floor')::bigint"
    " THEN onceguard.floor_raised() END FROM onceguard.meta m"};

// $1 digest, $2 claim id, $3 token, $4 lock, $5 retention, $6 flags, $7 subject, $8 outcome. What
// is not returned has ended, belongs to another lease, is being worked on, or can't be read.
// On a row that another transaction changed after this statement's snapshot, PostgreSQL evaluates
// the WHERE anew at READ COMMITTED (PostgreSQL, 13.2.1): all conditions stand there, and none in a
// query before.
const statement complete_batch{
    "complete_batch",
    "UPDATE onceguard.records r SET state = 'completed', deadline_at = k.now,"
    " expires_at = k.now + i.retention, outcome = i.outcome,"
    " flags = nullif(coalesce(r.flags, 0) & 7 | i.flags, 0), why = NULL, why_status = NULL,"
    " failures = NULL, step = NULL, progress = NULL"
    " FROM (SELECT k.now, " LISTENED_TO
    " AS listened FROM (SELECT onceguard.now_ms() AS now OFFSET 0) k) k,"
    " unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::smallint[],"
    " $7::bytea[], $8::bytea[])"
    " AS i(digest, claim_id, token, lock, retention, flags, subject, outcome)"
    " WHERE r.digest = i.digest AND r.token = i.token AND r.claim_id = i.claim_id"
    " AND r.state <= 'probing' AND r.subject = i.subject AND pg_try_advisory_xact_lock(i.lock)"
    " RETURNING r.digest, r.claim_id, r.token, k.listened"};

const statement read_batch{
    "read_batch",
    "SELECT" ROW_COLUMNS("i.digest", SHORT_OUTCOME)
    " FROM (SELECT onceguard.now_ms() AS now) k, unnest($1::bytea[]) AS i(digest)"
    " LEFT JOIN onceguard.records r ON r.digest = i.digest"};

const statement read_whole{
    "read_whole",
    "SELECT" ROW_COLUMNS("i.digest", "r.outcome")
    " FROM (SELECT onceguard.now_ms() AS now, $1::bytea AS digest) i"
    " CROSS JOIN LATERAL (SELECT i.now) k LEFT JOIN onceguard.records r ON r.digest = i.digest"};

// $1 digest, $2 lock, $3 version, $4 claim id, $5 token, $6 deadline, $7 expiry, $8 state, $9
// flags, $10 why, $11 its status, $12 attempt, $13 failures, $14 unknown retention, $15 first
// token, $16 claimed at, $17 retry at, $18 subject, $19 outcome, $20 retention, $21 drops steps,
// $22 step, $23 progress: of work in steps that is imported.
const statement insert_row{
    "insert_row",
    "WITH written AS (INSERT INTO onceguard.records AS r (digest, claim_id, token, deadline_at,"
    " expires_at, state, flags, why, why_status, attempt, failures, unknown_retention, first_token,"
    " claimed_at, retry_at, subject, outcome, retention, step, progress)"
    " SELECT $1::bytea, $4::bytea, $5::bigint, $6::bigint, $7::bigint, $8::text::onceguard.state,"
    " nullif($9::smallint, 0), nullif($10::smallint, 0), nullif($11::smallint, 0),"
    " nullif($12::integer, 1), nullif($13::integer, 0), nullif($14::bigint, 0), $15::bigint,"
    " nullif($16::bigint, $5 / 1000), nullif($17::bigint, 0), $18::bytea, $19::bytea, $20::bigint,"
    " $22::text, $23::bytea"
    " WHERE pg_try_advisory_xact_lock($2::bigint) AND $3::xid IS NULL"
    " AND $21::boolean IS NOT NULL"
    " ON CONFLICT (digest) DO NOTHING RETURNING r.token), " NOTE_UNKNOWN(
        "$1", "$6", "$8", "written") " SELECT w.token, NULL::bigint, false FROM written w"};

// The same, then $24 grants, $25 forgets, the memory, $30 connection, $31 its leases.
// xmin changes with each write of the row: equal, nobody has written since it was read.
const statement replace_row{
    "replace_row",
    "WITH known AS MATERIALIZED (SELECT onceguard.now_ms() AS now, CASE WHEN $24::boolean"
    " AND NOT " MEMORY_HOLDS("$26", "$27", "$28", "$29")
    " THEN onceguard.memory_lost() ELSE m.floor END AS floor, m.raises FROM onceguard.meta m),"
    " written AS ("
    " UPDATE onceguard.records r SET claim_id = $4::bytea, token = n.token,"
    " deadline_at = $6::bigint, expires_at = $7::bigint, state = $8::text::onceguard.state,"
    " flags = nullif($9::smallint, 0), why = nullif($10::smallint, 0),"
    " why_status = nullif($11::smallint, 0), attempt = nullif($12::integer, 1),"
    " failures = nullif($13::integer, 0), unknown_retention = nullif($14::bigint, 0),"
    " first_token = $15::bigint, claimed_at = nullif($16::bigint, n.token / 1000),"
    " retry_at = nullif($17::bigint, 0), subject = $18::bytea, outcome = $19::bytea,"
    " retention = CASE WHEN $20::bigint IS NULL THEN r.retention ELSE nullif($20, 86400000) END,"
    " step = CASE WHEN $21::boolean THEN $22::text ELSE r.step END,"
    " progress = CASE WHEN $21::boolean THEN $23::bytea ELSE r.progress END"
    " FROM (SELECT b.digest, CASE WHEN $24::boolean"
    " THEN greatest(k.now * 1000, b.token + 1, k.floor + 1) ELSE $5::bigint END AS token"
    " FROM known k, onceguard.records b WHERE b.digest = $1::bytea OFFSET 0) n"
    " WHERE r.digest = n.digest AND r.xmin = $3::xid AND pg_try_advisory_xact_lock($2::bigint)"
    " RETURNING r.token), "
    COUNT_LEASES("$30", "$31", "written WHERE $24::boolean") ", "
    NOTE_UNKNOWN("$1", "$6", "$8", "written")
    ", forgot AS (UPDATE onceguard.meta m SET forgotten = m.forgotten + 1"
    " WHERE $25::boolean AND EXISTS (SELECT FROM written))"
    " SELECT w.token, c.leases, " LISTENED_TO
    " FROM written w LEFT JOIN counted c ON true, known k"};

// $1 the first page and $2 the page behind the last of a piece, $3 and $4 where to go on in it, $5
// how many rows, $6 whether expiry is paused, $7 states, $8 texts of the subject, $9 scope, $10 the
// least age, $11 the age below which. One row at least.
const statement list_piece{
    "list_piece",
    "SELECT" ROW_COLUMNS("r.digest", "r.outcome") ", k.pages FROM " NOW_AND_PAGES
    " LEFT JOIN LATERAL (SELECT b.*, b.xmin, coalesce(b.first_token, b.token) AS first"
    " FROM onceguard.records b WHERE " IN_PIECE("b")
    " AND (coalesce(b.first_token, b.token), b.digest) > ($3::bigint, $4::bytea)"
    // What can't be read may be what any filter looks for, and nobody knows whether it has expired.
    " AND (NOT onceguard.expired(b.state, b.deadline_at, b.expires_at, k.now, $6::boolean)"
    " AND ($7::text IS NULL"
    " OR onceguard.observed(b.state, b.deadline_at, k.now) = ANY (string_to_array($7, ',')))"
    " AND ($9::bytea IS NULL OR substr(b.subject, 3, 32) = $9)"
    " AND ($10::bigint IS NULL OR k.now - coalesce(b.claimed_at, b.token / 1000) >= $10)"
    " AND ($11::bigint IS NULL OR k.now - coalesce(b.claimed_at, b.token / 1000) < $11)"
    " AND ($8::bytea[] = '{}' OR (SELECT bool_and(position(t.part IN b.subject) > 0)"
    " FROM unnest($8) AS t(part))) OR NOT onceguard.readable(b))"
    " ORDER BY first, b.digest LIMIT $5::integer) r ON true"};

// $1 behind which note, $2 how many notes are examined, $3 how many rows, $4 whether expiry is
// paused. Of a row without a version, only the last column counts: the last note that was examined,
// if there may be more.
const statement list_attention{
    "list_attention",
    "WITH noted AS MATERIALIZED (SELECT a.digest FROM onceguard.attention a"
    " WHERE a.digest > $1::bytea ORDER BY a.digest LIMIT $2::integer),"
    " last AS (SELECT n.digest FROM noted n"
    " WHERE (SELECT count(*) FROM noted) = $2 ORDER BY n.digest DESC LIMIT 1)"
    " SELECT" ROW_COLUMNS("r.digest", "r.outcome") ", l.digest"
    " FROM (SELECT onceguard.now_ms() AS now) k LEFT JOIN last l ON true"
    " LEFT JOIN LATERAL (SELECT (b.c).*, b.xmin FROM noted n"
    " CROSS JOIN LATERAL (SELECT c, c.xmin FROM onceguard.records c WHERE c.digest = n.digest"
    " OFFSET 0) b WHERE (b.c).state <= 'probing' AND NOT onceguard.expired((b.c).state,"
    " (b.c).deadline_at, (b.c).expires_at, k.now, $4::boolean)"
    " OR NOT onceguard.readable(b.c) ORDER BY n.digest LIMIT $3::integer) r ON true"};

const statement find_key_index{
    "find_key_index",
    // One that a version before made has the key alone, and no order within it.
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indisvalid AND i.indnkeyatts = 2"
    " AND i.indexrelid = pg_catalog.to_regclass('onceguard.records_by_key'))"};

const char* const make_key_index =
    "CREATE INDEX CONCURRENTLY records_by_key ON onceguard.records (" INDEXED_KEY ", digest)";

// $1 what the index has, $2 behind which record, $3 how many rows. Records whose key the index
// lacks come, too. Each of the two reads so many entries and no more, however many are alike: the
// order is the index's own, with the key, which an equation with the key would take out of it. No
// other index has that order.
const statement list_key{
    "list_key",
    "WITH found AS MATERIALIZED ((SELECT digest FROM onceguard.records WHERE (" INDEXED_KEY
    ", digest) > ($1::bytea, $2::bytea) AND " INDEXED_KEY " <= $1 ORDER BY " INDEXED_KEY
    ", digest LIMIT $3::integer) UNION ALL (SELECT digest FROM onceguard.records WHERE " INDEXED_KEY
    " IS NULL AND digest > $2 ORDER BY " INDEXED_KEY
    ", digest LIMIT $3)) SELECT" ROW_COLUMNS("r.digest", "r.outcome")
    " FROM (SELECT onceguard.now_ms() AS now) k CROSS JOIN (SELECT f.digest FROM found f"
    " ORDER BY f.digest LIMIT $3) f"
    " JOIN onceguard.records r ON r.digest = f.digest ORDER BY r.digest"};

// Hints: their commit need not wait for the disk.
const statement note_attention{
    "note_attention",
    "WITH quick AS MATERIALIZED (SELECT pg_catalog.set_config('synchronous_commit', 'off', true))"
    " INSERT INTO onceguard.attention (digest) SELECT i.digest FROM quick,"
    " unnest($1::bytea[]) AS i(digest) ON CONFLICT DO NOTHING"};

const statement count_piece{
    "count_piece",
    "SELECT s.state, count(*), s.pages FROM (SELECT k.pages, CASE WHEN r.digest IS NULL THEN NULL"
    " WHEN NOT onceguard.readable(r) THEN 'unreadable'"
    " WHEN onceguard.expired(r.state, r.deadline_at, r.expires_at, k.now, $3::boolean) THEN NULL"
    " ELSE onceguard.observed(r.state, r.deadline_at, k.now) END AS state FROM " NOW_AND_PAGES
    " LEFT JOIN onceguard.records r ON " IN_PIECE("r") ") s GROUP BY s.state, s.pages"};

// With the size of all tables: once a minute, and cheap then.
const statement sweep_some{
    "sweep_some",
    "SELECT onceguard.sweep($1, $2), (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)"
    " FROM pg_class c WHERE c.relnamespace = 'onceguard'::regnamespace AND c.relkind = "
    "'r')::bigint"};
const statement poll_vitals{"poll_vitals", "SELECT * FROM onceguard.vitals($1, $2, $3, $4)"};
const statement poll_epoch{"poll_epoch", "SELECT * FROM onceguard.accelerator_epoch($1)"};
const statement note_state{"note_state", "SELECT onceguard.note_accelerator($1, $2, $3, $4)"};

const statement await_settles{
    "await_settles",
    "INSERT INTO onceguard.listeners AS l VALUES ($1::bigint, onceguard.now_ms() + $2::bigint)"
    " ON CONFLICT (connection) DO UPDATE SET until = excluded.until RETURNING l.until"};

// A hint only: its commit need not wait for the disk.
const statement notify_settled{"notify_settled",
                               "SELECT pg_catalog.set_config('synchronous_commit', 'off', true),"
                               " pg_catalog.pg_notify('onceguard_settled', $1)"};

std::span<const statement* const> all_statements() noexcept {
  static constexpr std::array all{
      &claim_batch, &check_memory,   &complete_batch, &read_batch,     &read_whole,
      &insert_row,  &replace_row,    &list_piece,     &list_attention, &find_key_index,
      &list_key,    &note_attention, &count_piece,    &sweep_some,     &poll_vitals,
      &poll_epoch,  &note_state,     &await_settles,  &notify_settled};
  return all;
}

}  // namespace onceguard::postgres
